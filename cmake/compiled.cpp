// The one translation unit of ipybox::compiled: every body that is not a template.
#include <ipybox/src.hpp>
