#include <ipybox/app/session_directory.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/ipybox.hpp>
#include <ipybox/packages/package_layer.hpp>
#include <ipybox/rules/approval_rules.hpp>

#include <cli/box.hpp>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace ipybox::cli {
namespace {

/// Tells what a configuration does less than it seems to.
template <class Sandbox>
result<any_sandbox> described(Sandbox sandbox, bool is_configured, box_options const& options, output_file& err) {
    if (!is_configured) return any_sandbox(std::move(sandbox));
    std::error_code ignored;
    auto const& directory = options.sessions_dir.empty() ? options.working_dir : options.sessions_dir;
    auto const seen = sandbox.describe(std::filesystem::absolute(directory, ignored));
    if (!seen) return failure(seen.error());
    for (auto const& notice : seen->notices) err.write_lines("ipybox: sandbox: " + notice);
    return any_sandbox(std::move(sandbox));
}

} // namespace

result<any_sandbox> sandbox_of(box_options const& options, output_file& err) {
    if (options.sandbox == sandbox_choice::none) return any_sandbox(no_sandbox{});
    sandbox_config config;
    if (!options.sandbox_config.empty()) {
        auto read = sandbox_config::load(options.sandbox_config);
        if (!read) return failure(read);
        config = *std::move(read);
    } else if (options.asks_for_hosts || !options.allowed_hosts.empty()) {
        config.network.ask_for_others = true;
    }
    for (auto const& host : options.allowed_hosts) {
        auto pattern = sandbox_config::domain_pattern::parse(host);
        if (!pattern) return failure(pattern);
        config.network.allowed_domains.push_back(*std::move(pattern));
    }
    if (!options.sessions_dir.empty()) config = config_for_sessions(std::move(config));
    bool const is_configured = !options.sandbox_config.empty();
    if (options.sandbox == sandbox_choice::srt)
        return described(srt_sandbox(std::move(config)), is_configured, options, err);
    // There a kernel reaches no host, so there is none to ask for.
    auto of_landlock = config;
    if (!is_configured) of_landlock.network.ask_for_others = false;
    if (options.sandbox == sandbox_choice::landlock)
        return described(landlock_sandbox(std::move(of_landlock)), is_configured, options, err);
    if (options.sandbox == sandbox_choice::best) { // it says what it chose
        best_sandbox best(bubblewrap_sandbox(std::move(config)), landlock_sandbox(std::move(of_landlock)));
        return described(std::move(best), true, options, err);
    }
    return described(bubblewrap_sandbox(std::move(config)), is_configured, options, err);
}

result<std::shared_ptr<package_layer const>> packages_of(package_choice const& chosen) {
    package_layer::options options;
    options.directory = chosen.directory;
    options.wheels = chosen.wheels;
    if (chosen.index) options.index = *chosen.index == "none" ? "" : *chosen.index;
    return package_layer::make(std::move(options));
}

result<executor_options> box_executor_options(box_options const& options) {
    executor_options made;
    if (!options.rules.empty()) {
        auto rules = approval_rules::load(options.rules);
        if (!rules) return failure(rules);
        made.approval.rules = std::move(*rules);
    }
    if (!options.audit_log.empty()) {
        audit_log::options log;
        log.file = options.audit_log;
        auto opened = audit_log::open(std::move(log));
        if (!opened) return failure(opened);
        made.approval.audit = std::move(*opened);
    }
    made.approval.require_shell_escape = options.require_shell_escape;
    made.working_dir = options.working_dir;
    made.output.images_dir = options.images_dir;
    made.kernel.python = options.python;
    made.sandbox.allow = options.allow;
    made.sandbox.limits = options.limits;
    return made;
}

} // namespace ipybox::cli
