#pragma once

/** \file
 * Build configuration that every header of the library starts from.
 *
 * Header-only by default. With `IPYBOX_SEPARATE_COMPILATION` the bodies of functions that are not templates are left
 * out of the headers; one translation unit of the program then includes `ipybox/src.hpp` (target `ipybox::ipybox`
 * does it).
 */

#if __cplusplus < 202002L
#error "ipybox needs C++20: compile with -std=c++20"
#endif

#include <version>

#ifndef __cpp_exceptions
#error "ipybox needs exceptions: compile without -fno-exceptions"
#endif
#ifndef __cpp_rtti
#error "ipybox needs run-time type information: compile without -fno-rtti"
#endif
#ifndef __cpp_lib_jthread
#error                                                                                                                 \
    "this standard library has no std::stop_token: with libc++ 18 or 19 compile with -fexperimental-library, or use libstdc++"
#endif

// Asio asks the standard library what it can do. Without one of its headers before, the answer (whether there is
// aligned_alloc) would depend on the order of includes, and memory of one translation unit would be released the wrong
// way in another.
#include <cstddef>

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif

#if defined(__clang__) && __has_include(<asio/version.hpp>)
#include <asio/version.hpp>
#if ASIO_VERSION < 102600
// Asio before 1.26 takes Clang for having no coroutines, unless it is told.
#if defined(ASIO_DETAIL_CONFIG_HPP) && !defined(ASIO_HAS_CO_AWAIT)
#error "include an ipybox header before the first Asio header, or define ASIO_HAS_CO_AWAIT and ASIO_HAS_STD_COROUTINE"
#endif
#ifndef ASIO_HAS_CO_AWAIT
#define ASIO_HAS_CO_AWAIT 1
#endif
#ifndef ASIO_HAS_STD_COROUTINE
#define ASIO_HAS_STD_COROUTINE 1
#endif
#endif
#endif

#ifdef IPYBOX_COMPILED_ASIO
// Comes with an installed library, as the macros below do: they say what it was compiled with.
#include <asio/version.hpp>
#include <nlohmann/json_fwd.hpp>
#if ASIO_VERSION != IPYBOX_COMPILED_ASIO
#error "the installed ipybox was compiled with another version of Asio: install it again, or use ipybox::header_only"
#endif

#if NLOHMANN_JSON_VERSION_MAJOR != IPYBOX_COMPILED_JSON_MAJOR ||                                                       \
    NLOHMANN_JSON_VERSION_MINOR != IPYBOX_COMPILED_JSON_MINOR ||                                                       \
    NLOHMANN_JSON_VERSION_PATCH != IPYBOX_COMPILED_JSON_PATCH
#error                                                                                                                 \
    "the installed ipybox was compiled with another version of nlohmann/json: install it again, or use ipybox::header_only"
#endif

#if (defined(JSON_DIAGNOSTICS) && JSON_DIAGNOSTICS) != IPYBOX_COMPILED_JSON_DIAGNOSTICS
#error                                                                                                                 \
    "JSON_DIAGNOSTICS is not what the installed ipybox was compiled with: JSON values differ; use ipybox::header_only"
#endif

#if defined(_LIBCPP_VERSION) != IPYBOX_COMPILED_LIBCXX
#error "the installed ipybox was compiled with another C++ library: choose it with -stdlib, or use ipybox::header_only"
#endif

#if defined(_GLIBCXX_DEBUG) != IPYBOX_COMPILED_GLIBCXX_DEBUG
#error                                                                                                                 \
    "_GLIBCXX_DEBUG is not what the installed ipybox was compiled with: the sizes of containers differ; use ipybox::header_only"
#endif

#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI != IPYBOX_COMPILED_CXX11_ABI
#error                                                                                                                 \
    "_GLIBCXX_USE_CXX11_ABI is not what the installed ipybox was compiled with: std::string differs; use ipybox::header_only"
#endif
#endif

#ifdef IPYBOX_SEPARATE_COMPILATION
#define IPYBOX_DECL
#else
#define IPYBOX_DECL inline
#define IPYBOX_HEADER_ONLY
#endif
