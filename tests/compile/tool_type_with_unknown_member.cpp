// expect: this type of a host tool has no JSON schema

#include <ipybox/tools/tool_type.hpp>

#include <thread>

struct job {
    int number = 0;
    std::thread::id worker;
};
IPYBOX_TOOL_TYPE(job, number, worker)
