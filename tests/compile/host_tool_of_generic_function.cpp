// expect: a host tool is a function with one signature: a lambda without auto parameters, a function pointer, or ipybox::host_tool::method(object, &type::name)

#include <ipybox/tools/host_tool.hpp>

ipybox::host_tool mistake("twice", "Doubles", {"n"}, [](auto n) { return n * 2; });
