// expect: the object of host_tool::method would be gone: name it, or give a pointer that shares it

#include <ipybox/tools/host_tool.hpp>

struct arm {
    int move(int by) { return by; }
};

ipybox::host_tool mistake("move", "Moves the arm", {"by"}, ipybox::host_tool::method(arm(), &arm::move));
