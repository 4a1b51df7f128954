#pragma once

#include <ipybox/http/challenge.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace ipybox::http {
namespace detail {

/// Reads the grammar of RFC 9110 section 11: challenges and their parameters are both divided by commas.
class challenge_reader {
  public:
    explicit challenge_reader(std::string_view field) : rest_(field) {}

    std::vector<challenge> read() {
        std::vector<challenge> found;
        for (skip_commas(); !rest_.empty(); skip_commas()) {
            auto const name = token();
            if (name.empty()) return found;
            if (auto value = equal_value()) {
                if (found.empty()) return found;
                found.back().parameters.add(std::string(name), *std::move(value));
                if (!ends_item()) return found;
                continue;
            }
            if (is_broken_ || !(ends_item() || is_blank())) return found;
            found.push_back(challenge{lower(name), {}});
            if (!take_first(found.back())) return found;
        }
        return found;
    }

  private:
    static bool is_token_character(char c) {
        constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               marks.find(c) != std::string_view::npos;
    }
    static std::string lower(std::string_view text) {
        std::string made(text);
        for (auto& c : made)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        return made;
    }

    [[nodiscard]] bool is_blank() const { return !rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'); }
    [[nodiscard]] bool ends_item() {
        auto after = rest_;
        while (!after.empty() && (after.front() == ' ' || after.front() == '\t')) after.remove_prefix(1);
        return after.empty() || after.front() == ',';
    }
    void skip_blanks() {
        while (is_blank()) rest_.remove_prefix(1);
    }
    void skip_commas() {
        while (is_blank() || rest_.starts_with(',')) rest_.remove_prefix(1);
    }

    std::string_view token() {
        auto const end = std::ranges::find_if_not(rest_, is_token_character);
        auto const found = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
        rest_.remove_prefix(found.size());
        return found;
    }

    /// `= VALUE` behind a name; none where something else comes.
    std::optional<std::string> equal_value() {
        auto const before = rest_;
        skip_blanks();
        if (!rest_.starts_with('=')) {
            rest_ = before;
            return std::nullopt;
        }
        rest_.remove_prefix(1);
        skip_blanks();
        if (rest_.starts_with('"')) return quoted();
        auto const value = token();
        is_broken_ = value.empty();
        return is_broken_ ? std::nullopt : std::optional<std::string>(value);
    }

    std::optional<std::string> quoted() {
        std::string value;
        for (rest_.remove_prefix(1); !rest_.empty(); rest_.remove_prefix(1)) {
            if (rest_.front() == '"') {
                rest_.remove_prefix(1);
                return value;
            }
            if (rest_.front() == '\\') rest_.remove_prefix(1);
            if (!rest_.empty()) value.push_back(rest_.front());
            if (rest_.empty()) break;
        }
        is_broken_ = true;
        return std::nullopt;
    }

    /// The text behind a scheme: a parameter, a token68, which is passed over, or the next challenge.
    bool take_first(challenge& of) {
        skip_blanks();
        auto const before = rest_;
        auto const name = token();
        if (!name.empty()) {
            if (auto value = equal_value()) {
                of.parameters.add(std::string(name), *std::move(value));
                return ends_item();
            }
        }
        is_broken_ = false;
        rest_ = before;
        if (rest_.empty() || rest_.front() == ',') return true;
        auto const end = rest_.find_first_of(", \t");
        rest_.remove_prefix(std::min(end, rest_.size()));
        return ends_item();
    }

    std::string_view rest_;
    bool is_broken_ = false;
};

} // namespace detail

IPYBOX_DECL std::vector<challenge> parse_challenges(std::string_view field) {
    return detail::challenge_reader(field).read();
}

IPYBOX_DECL bearer_challenge bearer_challenge_of(fields const& headers) {
    for (auto const field : headers.find_all("WWW-Authenticate"))
        for (auto const all = parse_challenges(field); auto const& each : all) {
            if (each.scheme != "bearer") continue;
            bearer_challenge made;
            made.resource_metadata = each.parameters.find("resource_metadata");
            made.scope = each.parameters.find("scope");
            made.error = each.parameters.find("error");
            return made;
        }
    return {};
}

} // namespace ipybox::http
