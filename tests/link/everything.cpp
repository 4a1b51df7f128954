// Includes everything and defines nothing itself.
#include <ipybox/ipybox.hpp>
#include <ipybox/version.hpp>
