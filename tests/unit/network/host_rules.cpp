#include <ipybox/network/host_rules.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::detail;

using addresses = std::vector<asio::ip::address>;

sandbox_config::network_access configured(std::string_view network) {
    return sandbox_config::parse("{\"network\": " + std::string(network) + "}").value().network;
}

rule_effect effect(sandbox_config::network_access const& config, std::string_view host, std::uint16_t port = 443) {
    return decide_host(config, host, port).effect;
}

addresses all_of(std::vector<std::string> const& texts) {
    addresses parsed;
    for (auto const& text : texts) parsed.push_back(asio::ip::make_address(text));
    return parsed;
}

/// Those of the addresses that a host may be reached at.
std::vector<std::string> left_of(std::vector<std::string> const& found,
                                 sandbox_config::network_access const& config = {},
                                 std::vector<std::string> const& own = {}) {
    auto const reachable = reachable_addresses(config, "a.test", all_of(found), all_of(own));
    std::vector<std::string> texts;
    if (reachable)
        for (auto const& address : *reachable) texts.push_back(address.to_string());
    return texts;
}

using texts = std::vector<std::string>;

} // namespace

TEST_CASE("decide_host: denied before allowed, ports, and what is below a name") {
    auto const config = configured(R"({"allowedDomains": ["allowed.test", "*.wide.test:443"],
                                       "deniedDomains": ["bad.wide.test", "*:25"], "strictAllowlist": true,
                                       "deniedDomainReasons": {"bad.wide.test": "it is bad"}})");
    CHECK(effect(config, "allowed.test") == rule_effect::allow);
    CHECK(effect(config, "allowed.test", 80) == rule_effect::allow);
    CHECK(effect(config, "allowed.test", 25) == rule_effect::deny);
    CHECK(effect(config, "sub.allowed.test") == rule_effect::deny);
    CHECK(effect(config, "notallowed.test") == rule_effect::deny);
    CHECK(effect(config, "a.wide.test") == rule_effect::allow);
    CHECK(effect(config, "a.wide.test", 80) == rule_effect::deny);
    CHECK(effect(config, "wide.test") == rule_effect::deny);
    CHECK(effect(config, "notwide.test") == rule_effect::deny);
    CHECK(effect(config, "bad.wide.test") == rule_effect::deny);
    CHECK(decide_host(config, "bad.wide.test", 443).reason == "it is bad");
    CHECK(decide_host(config, "bad.wide.test", 443).rule == "bad.wide.test");
    CHECK(decide_host(config, "a.wide.test", 443).rule == "*.wide.test:443");
}

TEST_CASE("decide_host: an empty list means nothing, and others are asked for where that is said") {
    CHECK(effect(sandbox_config::network_access(), "allowed.test") == rule_effect::deny);
    CHECK_FALSE(sandbox_config::network_access().opens_hosts());
    CHECK_FALSE(configured(R"({"allowedDomains": []})").opens_hosts());
    CHECK(effect(configured(R"({"allowedDomains": []})"), "other.test") == rule_effect::deny);
    CHECK(effect(configured(R"({"allowedDomains": ["allowed.test"]})"), "other.test") == rule_effect::ask);
    CHECK(effect(configured(R"({"allowedDomains": [], "strictAllowlist": false})"), "a.test") == rule_effect::ask);
    CHECK(effect(configured(R"({"allowedDomains": ["a.test"], "strictAllowlist": true})"), "b.test") ==
          rule_effect::deny);
}

TEST_CASE("reachable_addresses: only public ones, of all that a name leads to") {
    for (auto const* address : {"127.0.0.1",
                                "127.8.8.8",
                                "0.0.0.0",
                                "10.1.2.3",
                                "172.16.0.1",
                                "192.168.1.1",
                                "100.64.0.1",
                                "169.254.169.254",
                                "169.254.1.1",
                                "224.0.0.1",
                                "255.255.255.255",
                                "::1",
                                "::",
                                "fe80::1",
                                "fc00::1",
                                "fd00:ec2::254",
                                "::ffff:127.0.0.1",
                                "::ffff:169.254.169.254",
                                "64:ff9b::7f00:1",
                                "2002:7f00:1::",
                                "ff02::1"}) {
        INFO(address);
        CHECK(left_of({address}).empty());
        CHECK(left_of({address, "8.8.8.8"}) == texts{"8.8.8.8"});
    }
    CHECK(left_of({"8.8.8.8", "2606:4700::1"}) == texts{"8.8.8.8", "2606:4700::1"});
    CHECK(left_of({"::ffff:8.8.8.8"}) == texts{"8.8.8.8"});
    CHECK(left_of({}).empty());
}

TEST_CASE("reachable_addresses: not this machine's own, nor denied ones") {
    CHECK(left_of({"8.8.8.8", "8.8.4.4"}, {}, {"8.8.8.8"}) == texts{"8.8.4.4"});
    CHECK(left_of({"::ffff:8.8.8.8"}, {}, {"8.8.8.8"}).empty());
    auto config = configured(R"({"deniedResolvedAddresses": ["8.8.0.0/16"]})");
    CHECK(left_of({"8.8.8.8", "9.9.9.9"}, config) == texts{"9.9.9.9"});
    config.allowed_addresses = {sandbox_config::address_range::parse("10.0.0.0/8").value(),
                                sandbox_config::address_range::parse("8.8.8.8").value()};
    CHECK(left_of({"10.1.1.1", "192.168.1.1", "8.8.8.8"}, config) == texts{"10.1.1.1"});
}

TEST_CASE("reachable_addresses: IPv6 addresses that lead to IPv4 ones count as both") {
    for (auto const* const address : {"64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"}) {
        INFO(address);
        CHECK(left_of({address}).size() == 1);
        CHECK(left_of({address}, {}, {"8.8.8.8"}).empty());
        CHECK(left_of({"8.8.8.8"}, {}, {address}).empty());
        CHECK(left_of({address}, configured(R"({"deniedResolvedAddresses": ["8.8.0.0/16"]})")).empty());
    }
    auto const opened = configured(R"({"allowedAddresses": ["10.0.0.0/8"]})");
    CHECK(left_of({"64:ff9b::a01:101"}, opened) == texts{"64:ff9b::a01:101"}); // dialled as it is
    CHECK(left_of({"64:ff9b::c0a8:101"}, opened).empty());
}

TEST_CASE("reachable_addresses: a trusted host may lead anywhere but to what is denied") {
    auto config = configured(R"({"deniedResolvedAddresses": ["192.168.0.0/16"]})");
    config.trusted_domains.push_back(sandbox_config::domain_pattern::parse("a.test:8080").value());
    auto const reached = [&](std::string_view host, std::string_view address, std::uint16_t port) {
        return reachable_addresses(config, host, all_of({std::string(address)}), all_of({"127.0.0.1"}), port)
            .has_value();
    };
    CHECK(reached("a.test", "127.0.0.1", 8080));
    CHECK(reached("a.test", "10.1.1.1", 8080));
    CHECK_FALSE(reached("a.test", "192.168.1.1", 8080));
    CHECK_FALSE(reached("a.test", "10.1.1.1", 80));
    CHECK_FALSE(reached("b.test", "10.1.1.1", 8080));
}

TEST_CASE("reachable_addresses: an error names the host and where it leads") {
    auto const none = reachable_addresses({}, "a.test", all_of({"169.254.169.254"}), {});
    REQUIRE_FALSE(none);
    CHECK(none.error() == errc::approval_rejected);
    CHECK(none.error().text() == "a.test leads to 169.254.169.254, an address of this machine or of a network that is "
                                 "not public; allowedAddresses opens it (--allow-address)");
    auto const denied = reachable_addresses(configured(R"({"deniedResolvedAddresses": ["8.8.8.8"]})"), "a.test",
                                            all_of({"8.8.8.8"}), {});
    REQUIRE_FALSE(denied);
    CHECK(denied.error().text() == "a.test leads to 8.8.8.8, an address that is denied (deniedResolvedAddresses)");
    CHECK(reachable_addresses({}, "a.test", {}, {}).error() == errc::io_error);
}

TEST_CASE("own_addresses: has the loopback of this machine") {
    auto const own = own_addresses();
    CHECK(std::ranges::find(own, asio::ip::make_address("127.0.0.1")) != own.end());
}
