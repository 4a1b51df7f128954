// expect: ipybox needs run-time type information: compile without -fno-rtti
// flags: -fno-rtti
#include <ipybox/core/config.hpp>
