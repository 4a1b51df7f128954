#include <ipybox/ipybox.hpp>
#include <ipybox/version.hpp>

#include <string_view>

char const* second_version();

int main() { return std::string_view(second_version()) == ipybox::version_string ? 0 : 1; }
