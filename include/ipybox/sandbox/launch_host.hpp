#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/host_programs.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <filesystem>
#include <memory>
#include <string_view>

namespace ipybox::detail {

/// The path of an entry; empty where it begins with a home directory that is not known.
[[nodiscard]] std::filesystem::path spelled_path(std::string_view text, std::filesystem::path const& working_dir,
                                                 std::filesystem::path const& home);

/// Whether a policy mounts files that other programs take commands from read-only in writable directories.
enum class deciding_files { open, closed };

/// The places that code in a sandbox with this configuration can change.
[[nodiscard]] os::code_reach reach_of(sandbox_config::file_access const& config,
                                      std::filesystem::path const& working_dir, os::host_environment const& host,
                                      deciding_files decide);

/// The places that code can change in what a launch itself asks for.
[[nodiscard]] os::code_reach reach_of(launch_spec const& spec);

/// The host of a launch; that of now where it brings none. `policy` is about to be put around it.
template <class P>
std::shared_ptr<os::host_programs const> host_of(launch_spec const& spec, P const& policy) {
    if (spec.host) return spec.host;
    auto const made = os::host_programs::now(reach_of(spec));
    made->add_reach(policy.reach(spec.working_dir, made->environment()));
    return made;
}

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/launch_host.ipp>
#endif
