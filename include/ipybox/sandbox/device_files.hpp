#pragma once

#include <ipybox/core/result.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/// Devices that do no harm, and that every sandbox has.
inline constexpr std::string_view harmless_devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                                        "/dev/random", "/dev/urandom", "/dev/tty"};

/// The GPUs of NVIDIA's driver, all that there are.
inline constexpr std::string_view nvidia_devices = "nvidia";

/// Whether a configuration may have it in `devices`: `nvidia`, or an absolute path below /dev.
[[nodiscard]] bool is_device_name(std::string_view text);

/// The files through which programs use devices.
struct device_files {
    std::vector<std::filesystem::path> nodes;                     ///< character devices below /dev
    std::vector<std::filesystem::path> directories;               ///< below /sys, where the system describes them
    std::map<std::filesystem::path, std::filesystem::path> links; ///< below /sys, to one of `directories` or into it
};

/**
 * \brief Looks up devices of a configuration.
 * \param root where /dev, /proc and /sys are
 * \par Errors errc::invalid_argument — the machine has no such device, or it is not a character device
 */
[[nodiscard]] result<device_files> device_files_of(std::vector<std::string> const& devices,
                                                   std::filesystem::path const& root = "/");

/// The nodes that a sandbox has to keep as they are: for root, who owns the harmless ones too. Else there are none.
[[nodiscard]] std::vector<std::string> protected_devices(device_files const& opened);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/device_files.ipp>
#endif
