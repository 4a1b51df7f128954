#pragma once

#include <ipybox/network/proxy_request.hpp>

#include <http_parser.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ipybox::detail {

/// The head of an HTTP request for a proxy, read by http_parser.
class http_head {
  public:
    http_head();
    http_head(http_head const&) = delete;
    http_head& operator=(http_head const&) = delete;

    /// How many of the bytes belong to the head; none where it is not HTTP.
    [[nodiscard]] std::optional<std::size_t> feed(std::string_view bytes);

    [[nodiscard]] bool is_complete() const noexcept { return complete_; }

    /// The request that a complete head makes, or why it cannot be done.
    [[nodiscard]] std::variant<proxy_request, std::string> request() const;

  private:
    struct header {
        std::string name;
        std::string value;
    };

    static http_parser_settings const& settings();

    [[nodiscard]] std::variant<proxy_request, std::string> plain_request(http_parser_url const& url) const;
    [[nodiscard]] std::string head_for(proxy_request const& wanted, http_parser_url const& url) const;
    [[nodiscard]] std::string_view part(http_parser_url const& url, http_parser_url_fields which) const;
    [[nodiscard]] bool is_for_proxy(std::string_view name) const;
    void add_name(std::string_view piece);
    void add_value(std::string_view piece);

    http_parser parser_;
    std::string target_;
    std::vector<header> headers_;
    bool in_value_ = false; ///< of the last header
    bool complete_ = false;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/network/impl/http_head.ipp>
#endif
