#pragma once

#include <ipybox/network/impl/http_head.hpp>
#include <ipybox/sandbox/network_host.hpp>

#include <algorithm>
#include <array>

namespace ipybox::detail {

inline std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (auto& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

/// Whether a list as "close, X-Name" has a name, in any case.
inline bool lists(std::string_view list, std::string_view wanted) {
    constexpr std::string_view blanks = " \t";
    while (!list.empty()) {
        auto const comma = std::min(list.find(','), list.size());
        auto entry = list.substr(0, comma);
        list.remove_prefix(std::min(comma + 1, list.size()));
        entry.remove_prefix(std::min(entry.find_first_not_of(blanks), entry.size()));
        entry = entry.substr(0, entry.find_last_not_of(blanks) + 1);
        if (lower_case(entry) == wanted) return true;
    }
    return false;
}

IPYBOX_DECL http_head::http_head() {
    http_parser_init(&parser_, HTTP_REQUEST);
    parser_.data = this;
}

IPYBOX_DECL http_parser_settings const& http_head::settings() {
    static http_parser_settings const callbacks = [] {
        http_parser_settings s;
        http_parser_settings_init(&s);
        s.on_url = [](http_parser* parser, char const* at, std::size_t length) {
            static_cast<http_head*>(parser->data)->target_.append(at, length);
            return 0;
        };
        s.on_header_field = [](http_parser* parser, char const* at, std::size_t length) {
            static_cast<http_head*>(parser->data)->add_name({at, length});
            return 0;
        };
        s.on_header_value = [](http_parser* parser, char const* at, std::size_t length) {
            static_cast<http_head*>(parser->data)->add_value({at, length});
            return 0;
        };
        s.on_headers_complete = [](http_parser* parser) {
            static_cast<http_head*>(parser->data)->complete_ = true;
            return 2; // nothing behind the head is to be parsed
        };
        return s;
    }();
    return callbacks;
}

IPYBOX_DECL void http_head::add_name(std::string_view piece) {
    if (in_value_ || headers_.empty()) headers_.emplace_back();
    in_value_ = false;
    headers_.back().name.append(piece);
}

IPYBOX_DECL void http_head::add_value(std::string_view piece) {
    in_value_ = true;
    if (!headers_.empty()) headers_.back().value.append(piece);
}

IPYBOX_DECL std::optional<std::size_t> http_head::feed(std::string_view bytes) {
    auto const parsed = http_parser_execute(&parser_, &settings(), bytes.data(), bytes.size());
    if (HTTP_PARSER_ERRNO(&parser_) != HPE_OK || parser_.http_major > 1) return std::nullopt;
    return parsed;
}

IPYBOX_DECL std::string_view http_head::part(http_parser_url const& url, http_parser_url_fields which) const {
    if ((url.field_set & (1u << which)) == 0) return {};
    return std::string_view(target_).substr(url.field_data[which].off, url.field_data[which].len);
}

IPYBOX_DECL std::variant<proxy_request, std::string> http_head::request() const {
    auto const is_connect = parser_.method == HTTP_CONNECT;
    http_parser_url url;
    http_parser_url_init(&url);
    auto const failed = http_parser_parse_url(target_.data(), target_.size(), is_connect ? 1 : 0, &url) != 0;
    if (failed || part(url, UF_HOST).empty())
        return is_connect ? "CONNECT needs host:port" : "the target of a request must be a whole URL: this is a proxy";
    auto host = normal_host(part(url, UF_HOST));
    if (!host) return "the target names no host that can be compared: write a name, or an IP address as usual";
    if (!is_connect) {
        auto made = plain_request(url);
        if (auto* const wanted = std::get_if<proxy_request>(&made)) {
            wanted->host = std::move(*host);
            wanted->head = head_for(*wanted, url);
        }
        return made;
    }
    if (url.port == 0) return "CONNECT needs a port from 1 to 65535";
    return proxy_request{proxy_protocol::connect, std::move(*host), url.port};
}

IPYBOX_DECL std::variant<proxy_request, std::string> http_head::plain_request(http_parser_url const& url) const {
    constexpr std::uint16_t http_port = 80;
    if (lower_case(part(url, UF_SCHEMA)) != "http") return "only http:// URLs are requested so; for others use CONNECT";
    if (!part(url, UF_USERINFO).empty()) return "a URL with a user name is not requested: it could hide the host";
    if (!part(url, UF_FRAGMENT).empty()) return "a URL with a fragment is not requested";
    bool const has_port = !part(url, UF_PORT).empty();
    if (has_port && url.port == 0) return "a port is a number from 1 to 65535";
    for (auto const& [name, value] : headers_)
        if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
            return "a header has characters that do not belong into one";
    return proxy_request{proxy_protocol::http, "", has_port ? url.port : http_port};
}

/// RFC 9110 7.6.1: headers for the next hop alone.
IPYBOX_DECL bool http_head::is_for_proxy(std::string_view name) const {
    static constexpr std::array<std::string_view, 7> hop_by_hop{
        "connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate", "te", "upgrade"};
    if (std::ranges::find(hop_by_hop, name) != hop_by_hop.end()) return true;
    if (name == "transfer-encoding" || name == "content-length") return false; // the body is sent on as it is
    return std::ranges::any_of(
        headers_, [&](header const& h) { return lower_case(h.name) == "connection" && lists(h.value, name); });
}

IPYBOX_DECL std::string http_head::head_for(proxy_request const& wanted, http_parser_url const& url) const {
    constexpr std::uint16_t http_port = 80;
    auto const path = part(url, UF_PATH);
    auto const query = part(url, UF_QUERY);
    bool const is_ipv6 = wanted.host.find(':') != std::string::npos;
    auto authority = is_ipv6 ? "[" + wanted.host + "]" : wanted.host;
    if (wanted.port != http_port) authority += ":" + std::to_string(wanted.port);

    std::string head(http_method_str(static_cast<http_method>(parser_.method)));
    head.append(" ").append(path.empty() ? "/" : path);
    if (!query.empty()) head.append("?").append(query);
    head.append(parser_.http_minor == 0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
    head.append("Host: ").append(authority).append("\r\n");
    for (auto const& [name, value] : headers_) {
        auto const lower = lower_case(name);
        if (lower == "host" || is_for_proxy(lower)) continue;
        head.append(name).append(": ").append(value).append("\r\n");
    }
    return head.append("Connection: close\r\n\r\n");
}

} // namespace ipybox::detail
