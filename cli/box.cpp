#include <ipybox/app/session_directory.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/ipybox.hpp>
#include <ipybox/packages/package_layer.hpp>
#include <ipybox/rules/approval_rules.hpp>
#include <ipybox/sandbox/parent_proxy_url.hpp>

#include <cli/box.hpp>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
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

/// The proxy that the environment names for programs, as they read it.
std::string proxy_of_environment() {
    for (auto const* const name : {"https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"})
        if (char const* const url = std::getenv(name); url && *url) return url;
    return {};
}

result<void> add_network(sandbox_config::network_access& network, network_choice const& chosen) {
    for (auto const& range : chosen.addresses) {
        auto read = sandbox_config::address_range::parse(range);
        if (!read) return failure(read.error());
        network.allowed_addresses.push_back(*std::move(read));
    }
    if (chosen.proxy.empty()) return {};
    network.parent_proxy = chosen.proxy == "env" ? proxy_of_environment() : chosen.proxy;
    auto const usable = detail::parent_proxy_url::parse(network.parent_proxy);
    if (!usable && chosen.proxy == "env")
        return failure(errc::invalid_argument,
                       "--proxy env: neither HTTPS_PROXY nor HTTP_PROXY is a URL as http://proxy.example:3128");
    for (auto const* const name : {"no_proxy", "NO_PROXY"})
        if (char const* const list = std::getenv(name); list && network.parent_proxy_exceptions.empty())
            network.parent_proxy_exceptions = detail::exceptions_in(list);
    return {};
}

result<sandbox_config> config_of(box_options const& options) {
    auto config =
        options.sandbox_config.empty() ? result<sandbox_config>() : sandbox_config::load(options.sandbox_config);
    if (!config) return config;
    if (auto added = add_network(config->network, options.network); !added) return failure(added);
    return config;
}

} // namespace

result<any_sandbox> sandbox_of(box_options const& options, output_file& err) {
    if (options.sandbox == sandbox_choice::none) return any_sandbox(no_sandbox{});
    auto read = config_of(options);
    if (!read) return failure(read);
    auto config = *std::move(read);
    if (options.sandbox_config.empty() && (options.asks_for_hosts || !options.allowed_hosts.empty()))
        config.network.ask_for_others = true;
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

result<std::shared_ptr<package_layer const>> packages_of(box_options const& options) {
    auto const config = config_of(options);
    if (!config) return failure(config.error());
    auto const& chosen = options.packages;
    package_layer::options layer;
    layer.directory = chosen.directory;
    layer.wheels = chosen.wheels;
    if (chosen.index) layer.index = *chosen.index == "none" ? "" : *chosen.index;
    layer.network.allowed_addresses = config->network.allowed_addresses;
    layer.network.parent_proxy = config->network.parent_proxy;
    layer.network.parent_proxy_exceptions = config->network.parent_proxy_exceptions;
    layer.certificates = options.network.certificates;
    return package_layer::make(std::move(layer));
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
    std::error_code unknown;
    if (!options.cache.empty()) made.kernel.cache_dir = std::filesystem::absolute(options.cache, unknown);
    // Behind walls each has its own.
    if (!options.sessions_dir.empty() && options.sandbox != sandbox_choice::none) made.kernel.cache_dir = ".cache";
    if (auto const& file = options.network.certificates; !file.empty())
        for (auto const* const name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}) {
            std::error_code ignored;
            made.kernel.env[name] = std::filesystem::absolute(file, ignored).string();
        }
    made.sandbox.allow = options.allow;
    made.sandbox.limits = options.limits;
    return made;
}

} // namespace ipybox::cli
