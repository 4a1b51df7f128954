#include <ipybox/ipybox.hpp>
#include <ipybox/version.hpp>

char const* second_version() { return ipybox::version_string; }
