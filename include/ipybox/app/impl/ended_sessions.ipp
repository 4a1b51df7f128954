#pragma once

#include <ipybox/app/ended_sessions.hpp>
#include <ipybox/app/impl/written_seconds.hpp>

#include <algorithm>

namespace ipybox {

IPYBOX_DECL void ended_sessions::add_idle(std::string name, std::chrono::milliseconds idle) {
    add(std::move(name), "was idle for " + detail::written_seconds(idle) + " s and has been ended");
}

IPYBOX_DECL void ended_sessions::add_lost(std::string name) {
    add(std::move(name), "has ended with the sandbox of all sessions");
}

IPYBOX_DECL void ended_sessions::add(std::string name, std::string const& why) {
    (void)take(name);
    if (told_.size() == most) told_.pop_front();
    auto sentence = "the session \"" + name + "\" " + why + ": its variables are gone";
    told_.emplace_back(std::move(name), std::move(sentence));
}

IPYBOX_DECL std::optional<std::string> ended_sessions::find(std::string_view name) const {
    auto const found = std::ranges::find(told_, name, &std::pair<std::string, std::string>::first);
    return found == told_.end() ? std::nullopt : std::optional(found->second);
}

IPYBOX_DECL std::optional<std::string> ended_sessions::take(std::string_view name) {
    auto const found = std::ranges::find(told_, name, &std::pair<std::string, std::string>::first);
    if (found == told_.end()) return std::nullopt;
    auto sentence = std::move(found->second);
    told_.erase(found);
    return sentence;
}

} // namespace ipybox
