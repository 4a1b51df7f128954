#pragma once

#include <ipybox/core/json_of_bytes.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/impl/supervisor_launch.hpp>
#include <ipybox/os/closed_files.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

/** \file
 * Requests as a supervisor gets them that keeps its kernels apart, docs/kernel-protocol.md section 2.
 */

namespace ipybox::detail {

using json = nlohmann::json;

/// A member of a request, which loses it; null where it has none.
inline json take_member(json& message, char const* name) {
    auto const member = message.find(name);
    if (member == message.end()) return nullptr;
    auto taken = std::move(*member);
    message.erase(member);
    return taken;
}

/// A file with the part of a request that is for one kernel alone. The supervisor does not read it, for later kernels
/// inherit its memory.
/// \param closed names of files that the kernel must not write to; null: of no kernel
inline result<os::unique_fd> take_own_part(json& message, json closed) {
    auto const& operation = message["op"];
    if (operation != "fork" && operation != "run") return os::unique_fd();
    json own = json::object();
    for (auto const* name : {"env", "argv", "cwd"})
        if (auto member = take_member(message, name); !member.is_null()) own[name] = std::move(member);
    if (!closed.is_null()) own["closed"] = std::move(closed);
    return os::make_memory_file("ipybox_own", json_of_bytes(own));
}

/// If hosts can be reached by name, a kernel that is forked gets a socket for that. A foreign kernel gets none: no
/// session serves it.
inline result<void> add_network(json& message, bool opens_hosts) {
    auto const& operation = message["op"];
    if (!opens_hosts || (operation != "fork" && operation != "spawn")) return {};
    if (operation == "spawn")
        return failure(errc::invalid_argument, "hosts can be opened for the default kernel alone: use "
                                               "socketpair_transport, or leave network/allowedDomains empty");
    message["network"] = true;
    return {};
}

/// Names the files in a kernel's directory that it must not write to. \return what stands for missing ones
inline result<std::shared_ptr<void const>> add_closed_files(json& message,
                                                            std::optional<launch_spec::kernel_walls> const& walls) {
    if (message["op"] != "fork" || !walls || !walls->closed) return nullptr;
    auto closed = walls->closed->find(jupyter::message::field(message, "cwd"));
    if (!closed) return failure(closed);
    auto& names = message["closed"] = json::array();
    for (auto const& path : closed->relative) names.push_back(path.string());
    return std::move(closed->keeps);
}

/// Adds the name of the directory or program to an error about it: a supervisor with walls does not know them.
inline error with_name(error const& why, std::string const& directory, std::string const& program) {
    bool const is_of_program = why == errc::kernel_start_failed;
    auto const& name = is_of_program ? program : directory;
    if (!why.cause() || name.empty() || (!is_of_program && why != errc::invalid_argument)) return why;
    return error(static_cast<errc>(why.code().value()), name + ": " + why.text()).with_cause(why.cause());
}

inline std::string program_of(json const& message) {
    auto const argv = message.find("argv");
    return argv != message.end() && !argv->empty() ? argv->front().get<std::string>() : std::string();
}

} // namespace ipybox::detail
