#include <ipybox/ipybox.hpp>
#include <ipybox/version.hpp>

char const* second_version();

int main() { return second_version() == ipybox::version_string ? 0 : 1; }
