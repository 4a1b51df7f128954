// Includes everything and defines nothing itself: linked twice, it is two translation units with all functions of the
// library.
#include <ipybox/ipybox.hpp>
#include <ipybox/version.hpp>
