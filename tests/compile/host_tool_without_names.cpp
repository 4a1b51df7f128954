// expect: a host tool has a name for each parameter of its function

#include <ipybox/tools/host_tool.hpp>

ipybox::host_tool mistake("add", "Adds", {"a"}, [](int a, int b) { return a + b; });
