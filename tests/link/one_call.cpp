// Uses the library as the smallest program does.
#include <ipybox/executor.hpp>

int main() { return ipybox::executor().execute("1+1") ? 0 : 1; }
