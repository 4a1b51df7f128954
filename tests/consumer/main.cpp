#include <ipybox/ipybox.hpp>
#include <ipybox/version.hpp>

#include <cstdio>

int main() { std::printf("ipybox %s\n", ipybox::version_string); }
