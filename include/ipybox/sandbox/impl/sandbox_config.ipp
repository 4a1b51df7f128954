#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/sandbox/impl/config_reader.hpp>
#include <ipybox/sandbox/network_host.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <asio/ip/network_v4.hpp>
#include <asio/ip/network_v6.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

namespace ipybox {
namespace detail {

inline nlohmann::json json_of(std::vector<sandbox_config::path_entry> const& paths) {
    auto list = nlohmann::json::array();
    for (auto const& [path, literal] : paths)
        list.push_back(literal ? nlohmann::json{{"path", path}, {"literal", true}} : nlohmann::json(path));
    return list;
}

template <class T>
nlohmann::json texts_of(std::vector<T> const& values) {
    auto list = nlohmann::json::array();
    for (auto const& value : values) list.push_back(value.text());
    return list;
}

inline nlohmann::json json_of(sandbox_config::file_access const& files) {
    return {{"denyRead", json_of(files.deny_read)},
            {"allowRead", json_of(files.allow_read)},
            {"allowWrite", json_of(files.allow_write)},
            {"denyWrite", json_of(files.deny_write)},
            {"allowGitConfig", files.allow_git_config}};
}

inline nlohmann::json json_of(sandbox_config::network_access const& network) {
    nlohmann::json value{{"allowedDomains", texts_of(network.allowed_domains)},
                         {"deniedDomains", texts_of(network.denied_domains)},
                         {"deniedDomainReasons", network.denied_domain_reasons},
                         {"deniedResolvedAddresses", texts_of(network.denied_addresses)},
                         {"strictAllowlist", !network.ask_for_others},
                         {"allowAllUnixSockets", network.all_unix_sockets}};
    for (auto const& path : network.unix_sockets) value["allowUnixSockets"].push_back(path.string());
    if (!network.allowed_addresses.empty()) value["allowedAddresses"] = texts_of(network.allowed_addresses);
    if (!network.parent_proxy.empty())
        value["parentProxy"] = {{"http", network.parent_proxy}, {"https", network.parent_proxy}};
    std::string exceptions;
    for (auto const& host : network.parent_proxy_exceptions)
        exceptions.append(exceptions.empty() ? "" : ",").append(host);
    if (!exceptions.empty()) value["parentProxy"]["noProxy"] = exceptions;
    return value;
}

/// "host:port" taken apart. A colon that is part of an IPv6 address in brackets separates nothing.
struct host_and_port {
    std::string_view host;
    std::optional<std::string_view> port = std::nullopt;

    explicit host_and_port(std::string_view text) : host(text) {
        auto const from = text.starts_with('[') ? text.find(']') : 0;
        auto const colon = from == std::string_view::npos ? from : text.find(':', from);
        if (colon == std::string_view::npos) return;
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
    }
};

inline std::optional<std::uint16_t> port_number(std::string_view text) noexcept {
    std::uint16_t number = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool const good = failed == std::errc() && end == text.data() + text.size() && number != 0 && text.front() != '0';
    return good ? std::optional(number) : std::nullopt;
}

inline std::string_view as_text(std::string const& value) { return value; }
inline std::string_view as_text(std::filesystem::path const& value) { return value.native(); }

template <class T>
void append_list(std::string& text, std::string_view title, std::vector<T> const& values) {
    if (values.empty()) return;
    text.append(title).append(":");
    for (auto const& value : values) text.append(" ").append(as_text(value));
    text.append("\n");
}

} // namespace detail

IPYBOX_DECL sandbox_config::sandbox_config()
    : filesystem{.deny_read = {{"**/.env"},
                               {"**/.env.local"},
                               {"**/.env.*.local"},
                               {"**/.env.development"},
                               {"**/.env.staging"},
                               {"**/.env.production"},
                               {"~/.ssh/"},
                               {"~/.aws/"},
                               {"~/.gnupg/"},
                               {"~/.netrc"},
                               {"~/.git-credentials"},
                               {"~/.kube/"},
                               {"~/.docker/"},
                               {"~/.config/gh/"},
                               {"~/.config/gcloud/"},
                               {"~/.npmrc"},
                               {"~/.pypirc"}},
                 .allow_write = {{"."}}} {}

IPYBOX_DECL result<sandbox_config> sandbox_config::parse(std::string_view text, std::string_view name) {
    return detail::read_config(text, name);
}

IPYBOX_DECL result<sandbox_config> sandbox_config::load(std::filesystem::path const& file) {
    constexpr std::size_t longest = std::size_t(1) << 20;
    auto const text = os::read_file(file, "the sandbox configuration " + file.string(), longest);
    if (!text) return failure(text.error());
    return parse(*text, file.string());
}

IPYBOX_DECL std::string sandbox_config::text() const {
    nlohmann::json json{{"filesystem", detail::json_of(filesystem)},
                        {"network", detail::json_of(network)},
                        {"mandatoryDenySearchDepth", search_depth},
                        {"allowNestedUserNamespaces", nested_user_namespaces}};
    for (auto const& name : hidden_variables)
        json["credentials"]["envVars"].push_back({{"name", name}, {"mode", "deny"}});
    if (!devices.empty()) json["devices"] = devices;
    if (!bwrap.empty()) json["bwrapPath"] = bwrap.string();
    return json_text(json, 2);
}

IPYBOX_DECL result<sandbox_config::address_range> sandbox_config::address_range::parse(std::string_view text) {
    auto const refused = [text] {
        return failure(errc::invalid_argument,
                       std::string("\"").append(text).append(
                           "\" is not a range of addresses; write one as 10.0.0.0/8, fc00::/7 or 192.168.1.10"));
    };
    asio::error_code wrong;
    auto const single = asio::ip::make_address(text, wrong);
    if (!wrong) {
        if (single.is_v4()) return address_range(single, 32);
        if (single.to_v6().scope_id() != 0) return refused();
        return address_range(single, 128);
    }
    auto const v4 = asio::ip::make_network_v4(text, wrong);
    if (!wrong) return address_range(v4.network(), v4.prefix_length());
    auto const v6 = asio::ip::make_network_v6(text, wrong);
    if (!wrong) return address_range(v6.network(), v6.prefix_length());
    return refused();
}

IPYBOX_DECL std::string sandbox_config::address_range::text() const {
    return network_.to_string() + "/" + std::to_string(prefix_length_);
}

IPYBOX_DECL bool sandbox_config::address_range::contains(asio::ip::address const& address) const noexcept {
    if (network_.is_v4()) {
        if (address.is_v6() && !address.to_v6().is_v4_mapped()) return false;
        auto const host =
            address.is_v4() ? address.to_v4() : asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
        return asio::ip::make_network_v4(host, prefix_length_).network() == network_.to_v4();
    }
    if (address.is_v4()) return false;
    return asio::ip::make_network_v6(address.to_v6(), prefix_length_).network() == network_.to_v6();
}

IPYBOX_DECL result<sandbox_config::domain_pattern> sandbox_config::domain_pattern::parse(std::string_view text) {
    return parse(text, false);
}

IPYBOX_DECL result<sandbox_config::domain_pattern> sandbox_config::domain_pattern::parse_denied(std::string_view text) {
    return parse(text, true);
}

IPYBOX_DECL result<sandbox_config::domain_pattern> sandbox_config::domain_pattern::parse(std::string_view text,
                                                                                         bool every_host_allowed) {
    auto const refuse = [text](std::string_view why) {
        return failure(errc::invalid_argument,
                       std::string("the host \"").append(text).append("\" cannot be used: ").append(why));
    };
    if (text.find('/') != std::string_view::npos)
        return refuse("a host's name is wanted, as example.org, *.example.org or example.org:443, not a URL");
    if (std::count(text.begin(), text.end(), ':') > 1 && !text.starts_with('['))
        return refuse("an IPv6 address stands in brackets, as [::1] or [::1]:443");
    detail::host_and_port const parts(text);
    std::optional<std::uint16_t> port;
    if (parts.port) {
        port = detail::port_number(*parts.port);
        if (!port) return refuse("a port is a number from 1 to 65535");
    }
    if (parts.host == "*") {
        if (!every_host_allowed) return refuse("* would be every host; name them, as example.org or *.example.org");
        return domain_pattern(text, "", scope::every_host, port);
    }
    bool const below = parts.host.starts_with("*.");
    auto host = normal_host(below ? parts.host.substr(2) : parts.host);
    if (!host) return refuse("a host is a name as example.org or *.example.org, or an IP address");
    bool const is_single_label = host->find_first_of(".:") == std::string::npos;
    if (is_single_label && (below || *host != "localhost")) return refuse("it needs two labels, as example.org");
    if (!below) return domain_pattern(text, *std::move(host), scope::one_host, port);
    if (host->find(':') != std::string::npos || host->find_first_not_of("0123456789.") == std::string::npos)
        return refuse("there is nothing below an IP address");
    return domain_pattern(text, "." + *host, scope::hosts_below, port);
}

IPYBOX_DECL bool sandbox_config::domain_pattern::matches(std::string_view host, std::uint16_t port) const noexcept {
    if (port_ && *port_ != port) return false;
    switch (scope_) {
    case scope::one_host: return host == host_;
    case scope::hosts_below: return host.size() > host_.size() && host.ends_with(host_);
    case scope::every_host: return true;
    }
    return false;
}

IPYBOX_DECL std::string sandbox_config::description::text() const {
    std::string text;
    detail::append_list(text, "writable", writable);
    detail::append_list(text, "read-only within", read_only);
    detail::append_list(text, "not readable", masked);
    detail::append_list(text, "readable within", readable);
    detail::append_list(text, "readable, and nothing else", only_readable);
    detail::append_list(text, "private and empty", private_directories);
    detail::append_list(text, "not readable, but missing", absent);
    detail::append_list(text, "devices", devices);
    if (hosts.empty() && !asks_for_hosts) text += "hosts: none\n";
    detail::append_list(text, "hosts", hosts);
    if (asks_for_hosts) text += "other hosts: are asked for\n";
    detail::append_list(text, "variables taken away", hidden_variables);
    for (auto const& notice : notices) text += "notice: " + notice + "\n";
    return text;
}

} // namespace ipybox
