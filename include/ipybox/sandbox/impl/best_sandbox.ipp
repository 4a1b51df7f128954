#pragma once

#include <ipybox/sandbox/best_sandbox.hpp>

#include <string>
#include <utility>

namespace ipybox {
namespace detail {

IPYBOX_DECL std::string why_no_bubblewrap(bubblewrap_sandbox::options const& options) {
    sandbox_config no_rules; // which would search the directory, and leave placeholders there for a moment
    no_rules.filesystem = {};
    auto const tried =
        bubblewrap_sandbox(no_rules, options).wrap({.argv = {"/bin/true"}, .env = {}, .working_dir = "/usr"});
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
    auto options = bubblewrap_.get_options();
    if (options.program.empty()) options.program = bubblewrap_.config().bwrap;
    auto const gap = detail::why_no_bubblewrap(options);
    auto seen = gap.empty() ? bubblewrap_.describe(working_dir) : landlock_.describe(working_dir);
    if (seen)
        seen->notices.insert(seen->notices.begin(),
                             gap.empty() ? "the sandbox is bubblewrap" : "the sandbox is landlock: " + gap);
    return seen;
}

} // namespace ipybox
