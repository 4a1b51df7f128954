#pragma once

/** \file
 * Packages that are installed while a session runs.
 */

#include <ipybox/packages/package_layer.hpp>
#include <ipybox/packages/package_options.hpp>
#include <ipybox/packages/package_result.hpp>
