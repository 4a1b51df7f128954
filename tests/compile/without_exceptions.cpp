// expect: ipybox needs exceptions: compile without -fno-exceptions
// flags: -fno-exceptions
#include <ipybox/core/config.hpp>
