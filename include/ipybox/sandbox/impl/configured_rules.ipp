#pragma once

#include <ipybox/sandbox/configured_rules.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ipybox::detail {

inline constexpr int most_looks = 3; ///< at the files, while other starts change them

IPYBOX_DECL result<file_rules> configured_rules(sandbox_config const& config, placeholder_journal const& journal,
                                                file_scene scene) {
    auto swept = journal.sweep();
    if (!swept) return failure(swept);
    for (int look = 0;; ++look) {
        scene.placeholders = std::move(swept->held);
        auto rules = file_rules_of(config.filesystem, config.search_depth, scene);
        // A placeholder that another start has made meanwhile was taken for a file, which goes with that one.
        swept = journal.sweep();
        if (!swept) return failure(swept);
        auto const was_known = [&](guarded_path const& held) {
            return std::ranges::find(scene.placeholders, held) != scene.placeholders.end();
        };
        if (look == most_looks || std::ranges::all_of(swept->held, was_known)) return rules;
    }
}

IPYBOX_DECL std::vector<std::filesystem::path> closed_paths_of(launch_spec const& spec) {
    auto closed = spec.read_only;
    closed.insert(closed.end(), spec.hidden.begin(), spec.hidden.end());
    return closed;
}

IPYBOX_DECL sandbox_config::description description_of(file_rules rules, sandbox_config const& config) {
    sandbox_config::description seen;
    seen.writable = std::move(rules.writable);
    for (auto const& guarded : rules.guarded) seen.read_only.push_back(guarded.path);
    seen.masked = std::move(rules.unreadable);
    seen.readable = std::move(rules.readable);
    seen.absent = std::move(rules.absent);
    for (auto const& allowed : config.network.allowed_domains) seen.hosts.push_back(allowed.text());
    seen.asks_for_hosts = config.network.ask_for_others;
    seen.hidden_variables = config.hidden_variables;
    seen.notices = config.notices;
    std::ranges::move(rules.notices, std::back_inserter(seen.notices));
    return seen;
}

} // namespace ipybox::detail
