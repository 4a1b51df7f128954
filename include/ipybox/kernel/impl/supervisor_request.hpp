#pragma once

#include <ipybox/core/json_of_bytes.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/impl/supervisor_launch.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

/** \file
 * Requests as a supervisor gets them that keeps its kernels apart, docs/kernel-protocol.md section 2.
 */

namespace ipybox::detail {

using json = nlohmann::json;

/// A file with the part of a request that is for one kernel alone. The supervisor does not read it, for later kernels
/// inherit its memory.
inline result<os::unique_fd> take_own_part(json& message) {
    auto const& operation = message["op"];
    if (operation != "fork" && operation != "run") return os::unique_fd();
    json own = json::object();
    for (auto const* name : {"env", "argv", "cwd"}) {
        auto const member = message.find(name);
        if (member == message.end()) continue;
        own[name] = std::move(*member);
        message.erase(member);
    }
    return os::make_memory_file("ipybox_own", json_of_bytes(own));
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
