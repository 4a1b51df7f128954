// expect: this standard library has no std::stop_token: with libc++ 18 or 19 compile with -fexperimental-library
#include <version>
// as with libc++ 19
#undef __cpp_lib_jthread
#include <ipybox/core/config.hpp>
