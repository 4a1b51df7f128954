#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/sandbox/device_files.hpp>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <system_error>
#include <utility>

namespace ipybox::detail {
namespace devices {

using path = std::filesystem::path;

inline error unusable(std::string_view device, std::string_view why) {
    return error(errc::invalid_argument,
                 std::string("the sandbox's configuration names the device ").append(device).append(why));
}

/// Devices of NVIDIA's driver: a number for each GPU, and what belongs to all of them.
inline bool is_of_nvidia(std::string_view name) {
    constexpr std::array<std::string_view, 4> shared{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"};
    constexpr std::string_view stem = "nvidia";
    if (std::ranges::find(shared, name) != shared.end()) return true;
    auto const number = name.starts_with(stem) ? name.substr(stem.size()) : std::string_view();
    return !number.empty() && number.find_first_not_of("0123456789") == number.npos;
}

/// The entries of a directory in order; none where it is missing.
inline std::vector<path> entries_of(path const& directory) {
    std::vector<path> found;
    std::error_code missing;
    std::filesystem::directory_iterator entries(directory, missing);
    for (; !missing && entries != std::filesystem::directory_iterator(); entries.increment(missing))
        found.push_back(entries->path());
    std::ranges::sort(found);
    return found;
}

/// Takes devices one by one.
class collector {
  public:
    explicit collector(path const& root) : root_(std::filesystem::canonical(root)) {}

    result<void> add(std::string const& device) {
        if (device == nvidia_devices) return add_nvidia();
        auto const node = under_root(device);
        struct ::stat about{};
        if (::stat(node.c_str(), &about) != 0)
            return failure(unusable(device, ", which this machine does not have; remove it, or load its driver"));
        if (!S_ISCHR(about.st_mode))
            return failure(unusable(device, ", which is not a character device; directories are opened by allowWrite, "
                                            "and disks not at all"));
        found_.nodes.emplace_back(device);
        add_description(about.st_rdev);
        return {};
    }

    device_files take() && { return std::move(found_); }

  private:
    path under_root(path const& absolute) const { return root_ / absolute.relative_path(); }
    path without_root(path const& real) const { return "/" / real.lexically_relative(root_); }

    result<void> add_nvidia() {
        for (auto const& node : entries_of(under_root("/dev")))
            if (is_of_nvidia(node.filename().native())) found_.nodes.push_back(without_root(node));
        if (found_.nodes.empty())
            return failure(unusable(nvidia_devices, ", but there is no /dev/nvidiactl; is NVIDIA's driver loaded?"));
        for (auto const& node : entries_of(under_root("/dev/nvidia-caps"))) found_.nodes.push_back(without_root(node));
        for (auto const& gpu : entries_of(under_root("/proc/driver/nvidia/gpus")))
            add_link(path("/sys/bus/pci/devices") / gpu.filename());
        return {};
    }

    /// Programs find out what a device is by its number.
    void add_description(::dev_t number) {
        auto const name = std::to_string(major(number)) + ":" + std::to_string(minor(number));
        auto const link = path("/sys/dev/char") / name;
        add_link(link, "device");
    }

    /// A link below /sys, and the directory that it leads to, or the one that this has under a name.
    void add_link(path const& link, path const& inner = {}) {
        std::error_code missing;
        auto const target = std::filesystem::canonical(under_root(link), missing);
        if (missing) return;
        auto const whole = std::filesystem::canonical(target / inner, missing);
        found_.links.emplace(link, without_root(target));
        found_.directories.push_back(without_root(missing ? target : whole));
    }

    path root_;
    device_files found_;
};

} // namespace devices

IPYBOX_DECL bool is_device_name(std::string_view text) {
    if (text == nvidia_devices) return true;
    std::filesystem::path const path(text);
    return text.starts_with("/dev/") && text.find('\0') == text.npos && path.has_filename() &&
           path == path.lexically_normal();
}

IPYBOX_DECL result<device_files> device_files_of(std::vector<std::string> const& devices,
                                                 std::filesystem::path const& root) {
    devices::collector collector(root);
    for (auto const& device : devices)
        if (auto added = collector.add(device); !added) return failure(added);
    return std::move(collector).take();
}

IPYBOX_DECL std::vector<std::string> protected_devices(device_files const& opened) {
    if (::geteuid() != 0) return {};
    std::vector<std::string> all(std::begin(harmless_devices), std::end(harmless_devices));
    for (auto const& node : opened.nodes) all.push_back(node.string());
    return all;
}

} // namespace ipybox::detail
