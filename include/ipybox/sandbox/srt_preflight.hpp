#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/sandbox/bubblewrap_preflight.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/// The programs that srt builds its sandbox of.
enum class srt_system { on_linux, on_macos }; // `linux` is a macro where a compiler has its extensions

/// A program that srt starts, and the package that has it.
struct srt_need {
    std::string_view program;
    std::string_view package;
};

[[nodiscard]] std::vector<srt_need> srt_needs(srt_system system);

/// The srt program: `wanted`, or the one on PATH, where no code can have put it.
/// \par Errors errc::sandbox_unavailable; errc::invalid_argument — `wanted` is not absolute
[[nodiscard]] result<std::filesystem::path> find_srt(std::filesystem::path const& wanted,
                                                     os::host_programs const& host);

/// Whether what `srt --version` said is a version that srt_sandbox knows, or a later one. \par Errors
/// errc::sandbox_unavailable
[[nodiscard]] result<void> check_srt_version(std::string_view said);

/// Whether the programs that srt starts are on PATH. \par Errors errc::sandbox_unavailable
[[nodiscard]] result<void> check_srt_needs(srt_system system, os::host_programs const& host);

/**
 * \brief Finds out whether srt works here: its version, what it needs, and whether bubblewrap may do what srt asks of
 * it.
 * \details As bubblewrap_preflight: success is remembered for the process, failure is not.
 * \param bwrap empty: the one that is found there
 * \param host srt gets its `search_path`
 * \par Errors errc::sandbox_unavailable; errc::io_error — is_shortage()
 */
[[nodiscard]] result<void> srt_preflight(std::filesystem::path const& srt, std::filesystem::path const& bwrap,
                                         os::host_programs const& host,
                                         std::chrono::milliseconds bound = longest_trial);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/srt_preflight.ipp>
#endif
