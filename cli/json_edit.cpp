#include <ipybox/core/json_text.hpp>

#include <cli/json_edit.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ipybox::cli {
namespace {

/// A member of an object, by its places in the text.
struct json_member {
    std::string name;
    std::size_t key = 0;   ///< begin of the name
    std::size_t begin = 0; ///< of the value
    std::size_t end = 0;   ///< behind the value
    std::size_t comma = 0; ///< behind it; nowhere_in_json: none
};

/// An object, by its places.
struct json_object {
    std::size_t begin = 0; ///< of `{`
    std::size_t end = 0;   ///< of `}`
    std::vector<json_member> members;

    [[nodiscard]] std::size_t count(std::string_view name) const {
        return static_cast<std::size_t>(std::ranges::count(members, name, &json_member::name));
    }
    [[nodiscard]] json_member const* find(std::string_view name) const {
        auto const found = std::ranges::find(members, name, &json_member::name);
        return found == members.end() ? nullptr : &*found;
    }
};

constexpr auto nowhere_in_json = std::string_view::npos;

/// Finds places in JSON with comments and trailing commas, as editors and people write it.
class json_scanner {
  public:
    json_scanner(std::string_view text, std::size_t at) : text_(text), at_(at) {}

    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    [[nodiscard]] bool has_comments() const noexcept { return has_comments_; }

    /// Blanks and comments.
    bool skip() {
        for (;;) {
            at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
            if (text_.compare(at_, 2, "//") == 0) {
                has_comments_ = true;
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (text_.compare(at_, 2, "/*") == 0) {
                has_comments_ = true;
                auto const end = text_.find("*/", at_ + 2);
                if (end == nowhere_in_json) return false;
                at_ = end + 2;
            } else {
                return true;
            }
        }
    }

    [[nodiscard]] std::optional<json_object> read_object() {
        json_object read;
        read.begin = at_;
        if (!take('{')) return std::nullopt;
        for (;;) {
            if (!skip()) return std::nullopt;
            read.end = at_;
            if (take('}')) return read;
            json_member next;
            next.key = at_;
            if (!skip_string()) return std::nullopt;
            auto const name = ipybox::detail::parse_json(text_.substr(next.key, at_ - next.key));
            if (!name.is_string()) return std::nullopt;
            next.name = name.get<std::string>();
            if (!skip() || !take(':') || !skip()) return std::nullopt;
            next.begin = at_;
            if (!skip_value()) return std::nullopt;
            next.end = at_;
            if (!skip()) return std::nullopt;
            next.comma = at_;
            bool const goes_on = take(',');
            if (!goes_on) next.comma = nowhere_in_json;
            read.members.push_back(std::move(next));
            if (!goes_on && (at_ >= text_.size() || text_[at_] != '}')) return std::nullopt;
        }
    }

    [[nodiscard]] bool skip_value() {
        constexpr int deepest = 200;
        if (at_ >= text_.size()) return false;
        char const first = text_[at_];
        if (first == '"') return skip_string();
        if (first == '{' || first == '[') {
            if (++depth_ > deepest) return false;
            bool const read = first == '{' ? read_object().has_value() : skip_array();
            --depth_;
            return read;
        }
        auto const end = std::min(text_.find_first_of(" \t\r\n,]}/", at_), text_.size());
        auto const word = text_.substr(at_, end - at_);
        at_ = end;
        bool const is_number = word.find_first_not_of("+-.0123456789eE") == nowhere_in_json && !word.empty();
        return is_number || word == "true" || word == "false" || word == "null";
    }

  private:
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    bool skip_string() {
        if (!take('"')) return false;
        while (at_ < text_.size() && text_[at_] != '"') {
            if (text_[at_] == '\n') return false;
            at_ += text_[at_] == '\\' ? 2 : 1;
        }
        return take('"');
    }

    bool skip_array() {
        (void)take('[');
        for (;;) {
            if (!skip()) return false;
            if (take(']')) return true;
            if (!skip_value() || !skip()) return false;
            if (!take(',') && (at_ >= text_.size() || text_[at_] != ']')) return false;
        }
    }

    std::string_view text_;
    std::size_t at_;
    int depth_ = 0;
    bool has_comments_ = false;
};

struct json_document {
    json_object all;
    std::optional<json_object> group;
};

auto json_fault(std::string what) { return failure(errc::invalid_argument, std::move(what)); }

result<json_document> read_json_document(std::string_view text, std::string_view group) {
    auto const begin = text.starts_with("\xEF\xBB\xBF") ? std::size_t(3) : std::size_t(0);
    json_scanner scan(text, begin);
    auto const broken = [&] {
        auto const line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(scan.at()), '\n');
        return json_fault("line " + std::to_string(line) + " is not JSON, also with comments and trailing commas");
    };
    if (!scan.skip()) return broken();
    auto all = scan.read_object();
    if (!all || !scan.skip() || scan.at() < text.size()) return broken();
    if (all->count(group) > 1) return json_fault("\"" + std::string(group) + "\" occurs twice");
    json_document read{*std::move(all), std::nullopt};
    auto const* const found = read.all.find(group);
    if (found == nullptr) return read;
    json_scanner within(text, found->begin);
    read.group = within.read_object();
    if (!read.group) return json_fault("\"" + std::string(group) + "\" is not an object");
    return read;
}

/// The blanks before the first member of an object that has lines.
std::string indentation_of(std::string_view text, json_object const& what) {
    if (what.members.empty()) return "  ";
    auto const key = what.members.front().key;
    auto const line = text.substr(0, key).rfind('\n');
    auto const before = line == nowhere_in_json ? std::string_view() : text.substr(line + 1, key - line - 1);
    auto const blanks = before.substr(0, std::min(before.find_first_not_of(" \t"), before.size()));
    return blanks.empty() ? std::string("  ") : std::string(blanks);
}

/// A value over several lines, whose members stand so far from the left.
std::string lines_of_value(nlohmann::ordered_json const& value, std::string const& unit, std::size_t level,
                           std::string const& line_end) {
    std::string text;
    auto const plain = json_text(value, 1);
    for (std::string_view rest = plain; !rest.empty();) {
        auto const line = rest.substr(0, rest.find('\n'));
        auto const depth = line.find_first_not_of(' ');
        if (!text.empty()) {
            text += line_end;
            for (auto i = level + depth; i > 0; --i) text += unit;
        }
        text += line.substr(depth);
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    return text;
}

std::string repeated(std::string const& unit, std::size_t count) {
    std::string text;
    while (count-- > 0) text += unit;
    return text;
}

/// The text with a first member in an object.
std::string with_first_member(std::string_view text, json_object const& in, std::string const& member_text,
                              std::string const& line_end, std::string const& unit, std::size_t level) {
    std::string inserted = line_end + repeated(unit, level) + member_text;
    auto rest = text.substr(in.begin + 1);
    if (!in.members.empty()) {
        inserted += ',';
    } else if (text.substr(in.begin + 1, in.end - in.begin - 1).find_first_not_of(" \t\r\n") == nowhere_in_json) {
        inserted += line_end + repeated(unit, level - 1);
        rest = text.substr(in.end);
    }
    return std::string(text.substr(0, in.begin + 1)) + inserted + std::string(rest);
}

} // namespace

result<std::string> with_json_member(std::string_view text, std::string_view group, std::string_view name,
                                     nlohmann::ordered_json const& value) {
    auto const key = json_text(nlohmann::json(std::string(name))) + ": ";
    auto const group_key = json_text(nlohmann::json(std::string(group))) + ": ";
    if (text.find_first_not_of(" \t\r\n") == nowhere_in_json) {
        nlohmann::ordered_json const all{{group, {{name, value}}}};
        return lines_of_value(all, "  ", 0, "\n") + "\n";
    }
    auto const read = read_json_document(text, group);
    if (!read) return failure(read.error());
    std::string const line_end = text.find("\r\n") != nowhere_in_json ? "\r\n" : "\n";
    auto const unit = indentation_of(text, read->all);
    if (!read->group) {
        nlohmann::ordered_json const inner{{name, value}};
        return with_first_member(text, read->all, group_key + lines_of_value(inner, unit, 1, line_end), line_end, unit,
                                 1);
    }
    auto const* const there = read->group->find(name);
    if (there == nullptr)
        return with_first_member(text, *read->group, key + lines_of_value(value, unit, 2, line_end), line_end, unit, 2);
    if (read->group->count(name) > 1) return json_fault("\"" + std::string(name) + "\" occurs twice");

    auto const old_text = text.substr(there->begin, there->end - there->begin);
    auto old = ipybox::detail::parse_ordered_json(old_text);
    if (!old.is_object())
        return json_fault("\"" + std::string(name) + "\" has comments or trailing commas, which would be lost");
    auto merged = value;
    for (auto const& [other, kept] : old.items())
        if (!merged.contains(other)) merged[other] = kept;
    if (nlohmann::json(merged) == nlohmann::json(old)) return std::string(text);
    return std::string(text.substr(0, there->begin)) + lines_of_value(merged, unit, 2, line_end) +
           std::string(text.substr(there->end));
}

result<std::string> without_json_member(std::string_view text, std::string_view group, std::string_view name) {
    if (text.find_first_not_of(" \t\r\n") == nowhere_in_json) return std::string(text);
    auto const read = read_json_document(text, group);
    if (!read) return failure(read.error());
    auto const* const there = read->group ? read->group->find(name) : nullptr;
    if (there == nullptr) return std::string(text);
    auto const& members = read->group->members;
    auto const index = static_cast<std::size_t>(there - members.data());
    auto begin = there->key;
    auto const line = text.substr(0, begin).find_last_not_of(" \t");
    if (line != nowhere_in_json && text[line] == '\n') begin = line > 0 && text[line - 1] == '\r' ? line - 1 : line;
    auto const end = there->comma == nowhere_in_json ? there->end : there->comma + 1;
    auto const before = text.substr(0, begin);
    auto const after = std::string(text.substr(end));
    bool const leaves_comma = there->comma == nowhere_in_json && index > 0;
    if (!leaves_comma) return std::string(before) + after;
    auto const comma = members[index - 1].comma;
    return std::string(before.substr(0, comma)) + std::string(before.substr(comma + 1)) + after;
}

} // namespace ipybox::cli
