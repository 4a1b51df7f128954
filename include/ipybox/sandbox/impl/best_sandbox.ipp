#pragma once

#include <ipybox/sandbox/best_sandbox.hpp>

#include <string>
#include <utility>

namespace ipybox {
namespace detail {

IPYBOX_DECL std::string why_no_bubblewrap(bubblewrap_sandbox::options const& options,
                                          std::shared_ptr<os::host_programs const> host) {
    sandbox_config no_rules; // which would search the directory, and leave placeholders there for a moment
    no_rules.filesystem = {};
    launch_spec spec{.argv = {"/bin/true"}, .env = {}, .working_dir = "/usr"};
    spec.host = std::move(host);
    auto const tried = bubblewrap_sandbox(no_rules, options).wrap(std::move(spec));
    return tried ? "" : tried.error().text();
}

} // namespace detail

IPYBOX_DECL result<launch_spec> best_sandbox::wrap(launch_spec spec) const {
    auto boxed = bubblewrap_.wrap(spec);
    if (boxed || boxed.error() != errc::sandbox_unavailable) return boxed;
    auto confined = landlock_.wrap(std::move(spec));
    if (confined) return confined;
    auto const why = static_cast<errc>(confined.error().code().value());
    if (why != errc::sandbox_unavailable)
        return failure(why, confined.error().text() + " (which does not work here: " + boxed.error().text() + ")");
    return failure(errc::sandbox_unavailable, "no sandbox works here. bubblewrap: " + boxed.error().text() +
                                                  ". Landlock: " + confined.error().text());
}

IPYBOX_DECL result<sandbox_config::description> best_sandbox::describe(std::filesystem::path const& working_dir) const {
    auto const host = os::host_programs::now();
    host->add_reach(reach(working_dir, host->environment()));
    auto options = bubblewrap_.get_options();
    if (options.program.empty()) options.program = bubblewrap_.config().bwrap;
    auto const gap = detail::why_no_bubblewrap(options, host);
    auto seen = gap.empty() ? bubblewrap_.describe(working_dir) : landlock_.describe(working_dir);
    if (seen)
        seen->notices.insert(seen->notices.begin(),
                             gap.empty() ? "the sandbox is bubblewrap" : "the sandbox is landlock: " + gap);
    return seen;
}

IPYBOX_DECL os::code_reach best_sandbox::reach(std::filesystem::path const& working_dir,
                                               os::host_environment const& host) const {
    auto all = bubblewrap_.reach(working_dir, host);
    all.add(landlock_.reach(working_dir, host));
    return all;
}

} // namespace ipybox
