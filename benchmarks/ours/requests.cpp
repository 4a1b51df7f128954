// HTTPS requests of code: direct ones, and ones through the sandbox's proxy.

#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>

#include <ours/child_program.hpp>
#include <ours/context.hpp>

#include <string>
#include <vector>

namespace bench {
namespace {

/// A sandbox from which one name can be reached, which leads to this machine.
ipybox::bubblewrap_sandbox sandbox_with_proxy() {
    auto config = require(ipybox::sandbox_config::parse(R"({"network": {"allowedDomains": ["local.test"]}})"));
    config.network.allowed_addresses.push_back(require(ipybox::sandbox_config::address_range::parse("127.0.0.1")));
    config.network.resolve = [](std::string const&) -> ipybox::result<std::vector<asio::ip::address>> {
        return std::vector<asio::ip::address>{asio::ip::make_address("127.0.0.1")};
    };
    return ipybox::bubblewrap_sandbox(std::move(config));
}

void https_requests(context& context) {
    if (context.sandbox_name != "none") return; // it has both
    auto const command = context.server_command("https_server.py");
    child_program server(command.front(), {command.begin() + 1, command.end()});
    auto const port = server.line();
    auto const cell_for = [&](std::string const& host) {
        return context.cell("https_requests.py") + "\nmeasure('https://" + host + ":" + port + "/')\n";
    };
    ipybox::executor outside({}, {}, ipybox::no_sandbox());
    ipybox::executor inside({}, {}, sandbox_with_proxy());
    std::vector<double> direct;
    std::vector<double> proxied;
    std::vector<double> ratios;
    for (int i = 0; i < context.repeat; ++i) {
        auto const without = samples_of(outside, cell_for("127.0.0.1"));
        auto const with = samples_of(inside, cell_for("local.test"));
        direct.insert(direct.end(), without.begin(), without.end());
        proxied.insert(proxied.end(), with.begin(), with.end());
        ratios.push_back(median(with) / median(without));
    }
    context.record("https_direct", "ms", direct, "10 KB, a connection for each");
    context.record("https_proxied", "ms", proxied, "from bubblewrap, by name");
    context.record("https_proxied_ratio", "x", ratios, "medians of 20");
}

} // namespace

std::vector<measurement> request_measurements() {
    return {{{"https_direct", "https_proxied", "https_proxied_ratio"}, https_requests}};
}

} // namespace bench
