#pragma once

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::http {

/// Whether two names are the same but for the case of their letters, as names of header fields are.
[[nodiscard]] inline bool same_name(std::string_view a, std::string_view b) {
    auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

/// Header fields, in their order: RFC 9110 section 5.
class fields {
  public:
    using field = std::pair<std::string, std::string>;

    fields() = default;
    fields(std::initializer_list<field> all) : all_(all) {}

    /// Adds a field behind the others.
    void add(std::string name, std::string value) { all_.emplace_back(std::move(name), std::move(value)); }

    /// Replaces the fields of that name.
    void set(std::string_view name, std::string value) {
        std::erase_if(all_, [name](field const& each) { return same_name(each.first, name); });
        add(std::string(name), std::move(value));
    }

    /// The value of the first one of that name; empty where there is none.
    [[nodiscard]] std::string_view find(std::string_view name) const {
        auto const at = std::ranges::find_if(all_, [name](field const& each) { return same_name(each.first, name); });
        return at == all_.end() ? std::string_view() : std::string_view(at->second);
    }

    /// The values of all of that name.
    [[nodiscard]] std::vector<std::string_view> find_all(std::string_view name) const {
        std::vector<std::string_view> values;
        for (auto const& [each, value] : all_)
            if (same_name(each, name)) values.emplace_back(value);
        return values;
    }

    [[nodiscard]] std::vector<field> const& all() const noexcept { return all_; }

  private:
    std::vector<field> all_;
};

/// A request. Redirects are not followed; a body is not compressed, and none that is compressed is asked for.
struct request {
    std::string method = "GET";
    std::string url;
    fields headers = {};
    std::shared_ptr<std::string const> body = {}; ///< of POST and PUT; none: it is empty

    std::chrono::milliseconds connect_timeout = std::chrono::seconds(30); ///< of the connection, with TLS
    std::optional<std::chrono::milliseconds> timeout = {}; ///< from the start to the end of the answer; none: no bound
    std::string authorities = {};                          ///< a file of certificates; empty: those of the system
};

/// What comes before the body of an answer.
struct response_head {
    int status = 0;
    fields headers = {};

    /// The media type of the body in lower case, without parameters.
    [[nodiscard]] std::string media_type() const {
        auto type = headers.find("Content-Type");
        type = type.substr(0, type.find(';'));
        while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
        std::string lower(type);
        for (auto& c : lower)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        return lower;
    }
};

} // namespace ipybox::http
