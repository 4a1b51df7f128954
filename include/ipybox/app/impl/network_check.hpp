#pragma once

#include <ipybox/app/finding.hpp>
#include <ipybox/network/host_lookup.hpp>
#include <ipybox/packages/package_layer.hpp>
#include <ipybox/sandbox/public_address.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace ipybox::detail {

/// The name of the host in a URL.
inline std::string host_in(std::string url) {
    url.erase(0, url.find("//") + 2);
    return url.substr(0, url.find_first_of("/:"));
}

/// Whether the host of packages leads to the public network: in those of companies names often lead elsewhere.
inline finding judge_addresses(std::string host, result<std::vector<asio::ip::address>> const& found) {
    finding seen{.name = "index", .note = "packages come from " + host};
    if (!found || found->empty()) {
        seen.state = finding_state::fails;
        seen.gap = found ? host + " has no address" : found.error().text();
        seen.remedy = "--proxy URL where hosts are reached through a proxy, or --package-wheels DIR";
        return seen;
    }
    auto const& first = found->front();
    seen.state = is_public(first) ? finding_state::works : finding_state::fails;
    if (seen.state == finding_state::works) return seen;
    seen.gap = host + " leads to " + first.to_string() +
               ", an address that is not public: the code reaches no host that leads there (installations do)";
    seen.remedy = "--allow-address " + first.to_string() + ", or --proxy URL where hosts are reached through a proxy";
    return seen;
}

/// The system cannot be told to stop looking: the thread is left where it takes longer than the bound.
inline finding_group check_network(std::chrono::milliseconds bound) {
    auto const host = host_in(package_layer::options().index);
    auto const answer = std::make_shared<std::promise<result<std::vector<asio::ip::address>>>>();
    auto looked_up = answer->get_future();
    std::thread([answer, host] { answer->set_value(look_up_in_system(host)); }).detach();
    finding_group group{"network", "The network (none is needed to run code)"};
    bool const is_late = looked_up.wait_for(bound) != std::future_status::ready;
    auto const found = is_late ? failure(errc::timed_out, host + " was not found in time") : looked_up.get();
    group.findings.push_back(judge_addresses(host, found));
    return group;
}

} // namespace ipybox::detail
