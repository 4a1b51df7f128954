// expect: a member that IPYBOX_TOOL_TYPE describes is not const: it is assigned

#include <ipybox/tools/tool_type.hpp>

struct job {
    int const number = 0;
};
IPYBOX_TOOL_TYPE(job, number)
