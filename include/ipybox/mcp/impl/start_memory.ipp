#pragma once

#include <ipybox/mcp/server_files.hpp>
#include <ipybox/mcp/server_launch.hpp>
#include <ipybox/mcp/start_memory.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ipybox::mcp::detail {

IPYBOX_DECL bool are_same(server_params const& one, server_params const& other) {
    return one.command == other.command && one.args == other.args && one.env == other.env &&
           one.env_file == other.env_file && one.working_dir == other.working_dir && one.inherit == other.inherit &&
           one.sandbox.has_value() == other.sandbox.has_value() && one.url == other.url &&
           one.headers == other.headers && one.reached_by == other.reached_by && one.authorities == other.authorities;
}

IPYBOX_DECL std::string words_of(server_params const& server) {
    if (server.is_remote()) return server.url;
    auto words = server.command;
    for (auto const& word : server.args) words.append(" ").append(word);
    return words;
}

IPYBOX_DECL void known_code::add(os::code_reach const& where) {
    std::scoped_lock const lock(mutex_);
    reach_.add(where);
}

IPYBOX_DECL void known_code::add(file_memory const& approved) {
    std::scoped_lock const lock(mutex_);
    approved_.add(approved);
}

IPYBOX_DECL os::code_reach known_code::reach() const {
    std::scoped_lock const lock(mutex_);
    return reach_;
}

IPYBOX_DECL std::string known_code::contradiction(file_memory const& now) const {
    std::scoped_lock const lock(mutex_);
    return now.contradiction_to(approved_);
}

IPYBOX_DECL void look_at(server_preview& seen, server_params const& server, os::code_reach const& reach,
                         known_code const& known) {
    if (auto const launch = launch_of(server)) seen.program = launch->argv.front();
    auto const files = files_of(server);
    auto const can_change = [&reach](auto const& file) { return reach.can_change(file); };
    std::ranges::copy_if(files.read_only, std::back_inserter(seen.open_files), can_change);
    seen.names_open_files = std::ranges::any_of(files.named, can_change);
    seen.memory = file_memory::of(files.code, reach);
    seen.changed = known.contradiction(seen.memory);
}

/// By the clock of the times of files.
inline ::timespec now_of_files() {
    ::timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}

inline error too_many_files() {
    return error(errc::mcp_start_failed,
                 "is not started: there are more files that it may take code from, and that code can change, than are "
                 "remembered (" +
                     std::to_string(file_memory::most_files) +
                     "); put it where code cannot write, or in a directory of its own");
}

IPYBOX_DECL start_memory::start_memory(std::shared_ptr<known_code> known, std::optional<file_memory> approved)
    : known_(std::move(known)), since_(now_of_files()), approved_(std::move(approved)) {
    if (approved_) known_->add(*approved_);
}

IPYBOX_DECL void start_memory::extend(std::optional<server_params> const& server, os::code_reach const& reach) {
    if (server && server->is_remote()) return;
    std::scoped_lock const lock(mutex_);
    if (!server) approved_.reset();
    if (!approved_) return;
    approved_->add_missing(file_memory::of(files_of(*server).code, reach));
    known_->add(*approved_);
}

IPYBOX_DECL result<void> start_memory::check(server_params const& server) {
    auto const reach = known_->reach();
    if (server.is_remote() || reach.empty()) return {};
    auto now = file_memory::of(files_of(server).code, reach);
    if (!now.is_complete()) return failure(too_many_files());
    std::scoped_lock const lock(mutex_);
    auto const difference = approved_ ? now.difference_from(*approved_, reach) : now.change_after(since_);
    if (!difference.empty())
        return failure(errc::mcp_start_failed, "is not started: " + difference +
                                                   " since it was registered, and code can write there; look at it, "
                                                   "and register the server again");
    if (approved_) return {};
    known_->add(now);
    approved_ = std::move(now);
    return {};
}

IPYBOX_DECL result<void> start_memory::check_started(server_params const& server) {
    auto const reach = known_->reach();
    if (server.is_remote() || reach.empty()) return {};
    auto places = files_of(server).code;
    places.environments.clear(); // of what is installed there no bytes are known
    auto const now = file_memory::of(places, reach);
    std::scoped_lock const lock(mutex_);
    auto const difference = approved_ ? now.rewritten_since(*approved_) : std::string();
    if (difference.empty()) return {};
    return failure(errc::mcp_start_failed, "was ended: " + difference +
                                               " while it started, and code can write there; look at it, and at what "
                                               "it may have done");
}

} // namespace ipybox::mcp::detail
