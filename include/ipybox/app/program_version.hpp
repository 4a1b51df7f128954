#pragma once

#include <ipybox/app/finding.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/os/host_programs.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace ipybox::detail {

/// The first word of the first line with one that is a version: "20.11.1" of "v20.11.1", "0.5.1" of "uv 0.5.1 (abc
/// 2024-11-08)". Empty: there is none.
[[nodiscard]] std::string version_in(std::string_view said);

/**
 * \brief Looks for a program on PATH, where no code can have put it, and asks it for its version.
 * \details One that is there but does not answer within the bound, or says no version, fails: it would not start a
 * server either.
 */
[[nodiscard]] finding find_versioned_program(os::host_programs const& host, std::string const& name,
                                             std::chrono::milliseconds bound);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/program_version.ipp>
#endif
