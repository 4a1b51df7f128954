#pragma once

#include <ipybox/core/exit_status.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/os/sandbox_limits.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

/** \file
 * Limits as they cross the control socket, docs/kernel-protocol.md sections 1 and 2.
 */

namespace ipybox::detail {

using json = nlohmann::json;

/// The limits as the greeting has them. `processes` goes along for a namespace of its own only: elsewhere the system
/// would count all processes of the user.
inline json limits_in(sandbox_limits const& limits, launch_spec const& launch) {
    json named = json::object();
    auto const add = [&named](char const* name, std::optional<std::uint64_t> const& value) {
        if (value) named[name] = std::min<std::uint64_t>(*value, INT64_MAX); // rlim_t of Python
    };
    add("memory", limits.memory);
    if (limits.cgroup.empty()) { // else the system counts for each kernel by itself
        add("kernel_memory", limits.kernel_memory);
        add("kernel_processes", limits.processes);
        if (launch.first_in_namespace) add("processes", limits.processes);
    }
    if (limits.cpu_time)
        add("cpu_time", static_cast<std::uint64_t>(std::max(limits.cpu_time->count(), std::chrono::seconds::rep{1})));
    add("file_size", limits.file_size);
    add("open_files", limits.open_files);
    return named;
}

/// The limit for which a kernel was ended, as the event of its end says; none where it ended otherwise.
inline std::optional<exit_status::exceeded_limit> exceeded_in(json const& event) {
    auto const found = event.find("exceeded");
    if (found == event.end() || !found->is_object()) return std::nullopt;
    auto const amount = [&found](char const* name) {
        auto const value = found->find(name);
        return value != found->end() && value->is_number_unsigned() ? value->get<std::uint64_t>() : std::uint64_t{0};
    };
    auto const which = jupyter::message::field(*found, "limit") == "processes"
                           ? exit_status::exceeded_limit::kind::processes
                           : exit_status::exceeded_limit::kind::memory;
    return exit_status::exceeded_limit{which, amount("used"), amount("allowed")};
}

} // namespace ipybox::detail
