#pragma once

/** \file
 * Packages that are installed while a session runs.
 */

#include <ipybox/packages/package_layer.hpp>

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/packages.ipp>
#endif
