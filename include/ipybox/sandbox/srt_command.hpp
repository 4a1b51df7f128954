#pragma once

#include <ipybox/core/config.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ipybox::detail {

/// The descriptors and data that the host hands to a program through srt.
struct srt_handover {
    std::filesystem::path srt;            ///< the program
    int settings_fd = 3;                  ///< the descriptor that srt reads its settings from
    std::filesystem::path private_dir;    ///< of this start alone, removed when srt has ended
    int control_fd = 3;                   ///< the number that the program expects its control descriptor under: 3 to 9
    std::optional<std::string> path = {}; ///< PATH of the program: srt itself has another
    std::optional<std::string> home = {}; ///< HOME of the program: srt itself has that of the host
};

/// The number that the control descriptor has on its way: Node passes on no other descriptors than 0 to 2, and Bash
/// takes a socket at 0 for a login.
inline constexpr int srt_control_fd = 1;

/**
 * \brief The command line that runs `argv` in srt, on Linux and macOS.
 * \details A shell around srt removes the private directory, also where srt was killed. A shell inside gives the
 * program its descriptors, PATH and HOME.
 */
[[nodiscard]] std::vector<std::string> srt_command(srt_handover const& handover, std::vector<std::string> argv);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/srt_command.ipp>
#endif
