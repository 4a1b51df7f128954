#pragma once

#include <ipybox/app/library_version.hpp>
#include <ipybox/version.hpp>

#include <asio/version.hpp>
#include <nlohmann/json.hpp>
#include <openssl/crypto.h>
#include <tl/expected.hpp>

#include <http_parser.h>

#include <string>
#include <vector>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#ifdef IPYBOX_ZMQ
#include <zmq.hpp>
#endif

namespace ipybox {
namespace detail {

inline std::string dotted(unsigned long first, unsigned long second, unsigned long third) {
    return std::to_string(first) + '.' + std::to_string(second) + '.' + std::to_string(third);
}

inline std::string compiler_version() {
#if defined(__clang__)
    return "Clang " __clang_version__;
#elif defined(__GNUC__)
    return "GCC " __VERSION__;
#else
    return "unknown";
#endif
}

inline std::string standard_library_version() {
#if defined(_LIBCPP_VERSION)
    return "libc++ " + std::to_string(_LIBCPP_VERSION);
#elif defined(_GLIBCXX_RELEASE)
    return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE);
#else
    return "unknown";
#endif
}

inline std::string c_library_version() {
#ifdef __GLIBC__
    return std::string("glibc ") + ::gnu_get_libc_version();
#else
    return "unknown";
#endif
}

} // namespace detail

IPYBOX_DECL std::vector<library_version> library_versions() {
    auto const http = ::http_parser_version();
    return {
        {"ipybox", version::text},
        {"Asio", detail::dotted(ASIO_VERSION / 100000, ASIO_VERSION / 100 % 1000, ASIO_VERSION % 100)},
        {"nlohmann/json",
         detail::dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
        {"tl::expected",
         detail::dotted(TL_EXPECTED_VERSION_MAJOR, TL_EXPECTED_VERSION_MINOR, TL_EXPECTED_VERSION_PATCH)},
#ifdef IPYBOX_ZMQ
        // libzmq is not asked: a program without zmq_transport would have to load it for that.
        {"libzmq", detail::dotted(ZMQ_VERSION_MAJOR, ZMQ_VERSION_MINOR, ZMQ_VERSION_PATCH)},
        {"cppzmq", detail::dotted(CPPZMQ_VERSION_MAJOR, CPPZMQ_VERSION_MINOR, CPPZMQ_VERSION_PATCH)},
#endif
        {"http_parser", detail::dotted(http >> 16 & 0xFF, http >> 8 & 0xFF, http & 0xFF)},
        {"OpenSSL (libcrypto)",
         detail::dotted(::OPENSSL_version_major(), ::OPENSSL_version_minor(), ::OPENSSL_version_patch())},
        {"compiler", detail::compiler_version()},
        {"C++ library", detail::standard_library_version()},
        {"C library", detail::c_library_version()},
    };
}

} // namespace ipybox
