#pragma once

#include <ipybox/sandbox/configured_rules.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL result<file_rules> configured_rules(sandbox_config const& config, std::size_t most_searched,
                                                std::filesystem::path const& working_dir,
                                                placeholder_journal const& journal, std::filesystem::path const& home,
                                                launch_spec const* launch) {
    auto others = journal.sweep();
    if (!others) return failure(others);
    file_scene scene{working_dir, home, most_searched, *std::move(others)};
    if (launch != nullptr)
        for (auto const* paths : {&launch->read_only, &launch->hidden})
            scene.closed.insert(scene.closed.end(), paths->begin(), paths->end());
    return file_rules_of(config.filesystem, config.search_depth, scene);
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
