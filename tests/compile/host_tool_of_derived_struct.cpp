// expect: this type of a host tool has no JSON schema

#include <ipybox/tools/host_tool.hpp>

struct place {
    int x = 0;
};
IPYBOX_TOOL_TYPE(place, x)

struct named_place : place {
    std::string name;
};

ipybox::host_tool mistake("go", "Goes there", {"where"}, [](named_place const& where) { return where.x; });
