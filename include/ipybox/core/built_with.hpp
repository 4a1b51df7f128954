#pragma once

#include <ipybox/core/config.hpp>

#include <asio/version.hpp>
#include <nlohmann/json_fwd.hpp>

#include <version>

namespace ipybox::detail {

/**
 * \brief The libraries and switches that a translation unit is compiled with, as far as they decide how types look.
 * \details It is part of the signature of what every program calls. If a program and the library differ here, the
 * linker refuses them, and its message shows this type twice: with the values of the program, which are missing from
 * the library.
 */
template <long Asio, long Json, bool GlibcxxDebug, bool Cxx11Abi, bool Libcxx>
struct built_with {};

using this_build = built_with<ASIO_VERSION,
                              NLOHMANN_JSON_VERSION_MAJOR * 1'000'000 + NLOHMANN_JSON_VERSION_MINOR * 1'000 +
                                  NLOHMANN_JSON_VERSION_PATCH,
#ifdef _GLIBCXX_DEBUG
                              true,
#else
                              false,
#endif
#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
                              false,
#else
                              true,
#endif
#ifdef _LIBCPP_VERSION
                              true
#else
                              false
#endif
                              >;

} // namespace ipybox::detail
