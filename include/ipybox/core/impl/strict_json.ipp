#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/json_depth.hpp>
#include <ipybox/core/nearest_name.hpp>
#include <ipybox/core/strict_json.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// "NAME:LINE:COLUMN: " and what the parser says behind its own position.
IPYBOX_DECL std::string describe(nlohmann::json::exception const& e, std::string_view text, std::string_view name) {
    std::string what = e.what();
    auto place = std::string(name);
    if (auto const* wrong = dynamic_cast<nlohmann::json::parse_error const*>(&e)) {
        auto const before = text.substr(0, std::min(text.size(), wrong->byte > 0 ? wrong->byte - 1 : 0));
        auto const line = 1 + std::count(before.begin(), before.end(), '\n');
        auto const column = before.size() - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
        place += ':' + std::to_string(line) + ':' + std::to_string(column);
        if (auto const end = what.find(": "); end != std::string::npos) what.erase(0, end + 2);
        // A string that is not closed would be quoted up to the end of its line.
        if (auto const quoted = what.find("; last read: "); quoted != std::string::npos) what.erase(quoted);
    } else if (auto const end = what.find("] "); end != std::string::npos) {
        what.erase(0, end + 2);
    }
    return place + ": " + what;
}

/// The first character behind white space and comments, or the end.
inline std::size_t behind_blanks(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        if (std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos) {
            ++at;
        } else if (text.substr(at).starts_with("//")) {
            at = std::min(text.find('\n', at), text.size());
        } else if (text.substr(at).starts_with("/*")) {
            auto const end = text.find("*/", at + 2);
            at = end == std::string_view::npos ? text.size() : end + 2;
        } else {
            break;
        }
    }
    return at;
}

/// The text with a blank for each comma behind the last member or element: positions stay.
inline std::string without_last_commas(std::string_view text) {
    std::string out(text);
    bool has_value = false; // a comma that follows no value is an error of the document
    for (std::size_t at = behind_blanks(text, 0); at < text.size(); at = behind_blanks(text, at)) {
        char const c = text[at];
        if (c == '"') {
            for (++at; at < text.size() && text[at] != '"'; ++at)
                if (text[at] == '\\') ++at;
        } else if (c == ',' && has_value) {
            auto const next = behind_blanks(text, at + 1);
            if (next < text.size() && (text[next] == '}' || text[next] == ']')) out[at] = ' ';
        }
        has_value = c != ',' && c != '{' && c != '[';
        at = std::min(at + 1, text.size());
    }
    return out;
}

IPYBOX_DECL result<nlohmann::json> parse_strictly(std::string_view text, std::string_view name, json_dialect dialect) {
    bool const is_of_editor = dialect == json_dialect::of_editors;
    using event = nlohmann::json::parse_event_t;
    std::vector<std::set<std::string>> open;
    std::optional<std::string> twice;
    bool too_deep = false;
    auto const watch = [&](int depth, event what, nlohmann::json& parsed) {
        bool const begins = what == event::object_start || what == event::array_start;
        if (begins && depth >= deepest_json) too_deep = true; // the outermost one begins at 0
        if (too_deep) return false;                           // nothing more is built of it
        if (what == event::object_start) open.emplace_back();
        if (what == event::object_end) open.pop_back();
        if (what == event::key && !open.back().insert(parsed.get<std::string>()).second && !twice)
            twice = parsed.get<std::string>();
        return true;
    };
    try {
        auto value = is_of_editor ? nlohmann::json::parse(without_last_commas(text), watch, true, true)
                                  : nlohmann::json::parse(text, watch);
        auto const refused = [name](std::string const& why) {
            return failure(errc::invalid_argument, std::string(name) + ": " + why);
        };
        if (too_deep) return refused("arrays and objects nest too deeply");
        if (twice) return refused("a member \"" + *twice + "\" stands twice in one object");
        return value;
    } catch (nlohmann::json::exception const& e) { return failure(errc::invalid_argument, describe(e, text, name)); }
}

IPYBOX_DECL std::optional<std::string_view> json_part(std::string_view text, std::string_view pointer) {
    json_cursor cursor(text);
    if (pointer.empty()) return cursor.skip();
    pointer.remove_prefix(1);
    auto const token = pointer.substr(0, pointer.find('/'));
    auto const rest = pointer.substr(token.size());
    std::optional<std::string_view> found;
    auto const pass = [&](bool is_here) {
        auto const part = cursor.skip();
        if (is_here && part) found = part;
        return part.has_value();
    };
    if (cursor.peek() == '{') {
        (void)cursor.object([&](std::string const& name) { return pass(name == token); });
    } else if (cursor.peek() == '[') {
        std::size_t index = 0;
        (void)cursor.array([&] { return pass(std::to_string(index++) == token); });
    }
    return found ? json_part(*found, rest) : std::nullopt;
}

IPYBOX_DECL strict_object::strict_object(nlohmann::json const& value, std::string where)
    : value_(value), where_(std::move(where)) {
    if (!value_.is_object()) fail("", "an object is wanted");
}

IPYBOX_DECL nlohmann::json const* strict_object::find(std::string_view name) {
    auto const known = std::string(name);
    known_.insert(known);
    if (!value_.is_object()) return nullptr;
    auto const found = value_.find(known);
    return found == value_.end() ? nullptr : &*found;
}

template <class T, class Accept>
std::optional<T> strict_object::take(std::string_view name, std::string_view wanted, Accept accept) {
    auto const* member = find(name);
    if (!member) return std::nullopt;
    std::optional<T> taken = accept(*member);
    if (!taken) fail(name, wanted);
    return taken;
}

IPYBOX_DECL std::optional<std::string> strict_object::text(std::string_view name) {
    return take<std::string>(name, "text is wanted", [](nlohmann::json const& member) {
        return member.is_string() ? std::optional(member.get<std::string>()) : std::nullopt;
    });
}

IPYBOX_DECL std::optional<std::uint64_t> strict_object::count(std::string_view name) {
    return take<std::uint64_t>(name, "an integer above 0 is wanted", [](nlohmann::json const& member) {
        bool const good = member.is_number_unsigned() ? member.get<std::uint64_t>() > 0
                                                      : member.is_number_integer() && member.get<std::int64_t>() > 0;
        return good ? std::optional(member.get<std::uint64_t>()) : std::nullopt;
    });
}

IPYBOX_DECL std::optional<std::chrono::milliseconds> strict_object::seconds(std::string_view name) {
    auto const wanted = "a number of seconds is wanted, at least 0.001 and at most ten years";
    return take<std::chrono::milliseconds>(name, wanted, [](nlohmann::json const& member) {
        constexpr double longest = 10 * 365 * 86400.0;
        bool const good = member.is_number() && member.get<double>() >= 0.001 && member.get<double>() <= longest;
        std::optional<std::chrono::milliseconds> taken;
        if (good) taken = std::chrono::milliseconds(std::llround(member.get<double>() * 1000));
        return taken;
    });
}

IPYBOX_DECL nlohmann::json const* strict_object::array(std::string_view name) {
    auto const* member = find(name);
    if (!member || member->is_array()) return member;
    fail(name, "an array is wanted");
    return nullptr;
}

IPYBOX_DECL std::optional<bool> strict_object::flag(std::string_view name) {
    return take<bool>(name, "true or false is wanted", [](nlohmann::json const& member) {
        return member.is_boolean() ? std::optional(member.get<bool>()) : std::nullopt;
    });
}

IPYBOX_DECL std::optional<std::vector<std::string>> strict_object::texts(std::string_view name) {
    auto const is_text = [](nlohmann::json const& element) {
        return element.is_string() && !element.get_ref<std::string const&>().empty();
    };
    return take<std::vector<std::string>>(name, "a list of texts is wanted", [&](nlohmann::json const& member) {
        bool const good = member.is_array() && std::all_of(member.begin(), member.end(), is_text);
        return good ? std::optional(member.get<std::vector<std::string>>()) : std::nullopt;
    });
}

IPYBOX_DECL std::optional<strict_object> strict_object::object(std::string_view name) {
    auto const* member = find(name);
    if (!member) return std::nullopt;
    return std::optional<strict_object>(std::in_place, *member, place(name));
}

IPYBOX_DECL void strict_object::fail(std::string_view name, std::string_view what) {
    if (!problem_) problem_ = json_problem{place(name), std::string(what)};
}

IPYBOX_DECL void strict_object::fail_missing(std::string_view name, std::string_view what) {
    if (!missing_) missing_ = json_problem{place(name), std::string(what)};
}

IPYBOX_DECL std::string strict_object::place(std::string_view name) const {
    return name.empty() ? where_ : where_ + "/" + std::string(name);
}

IPYBOX_DECL std::string strict_object::meant_by(std::string_view name) const {
    std::vector<std::string> free; // a member that is there is not the one that was meant
    for (auto const& known : known_)
        if (!value_.contains(known)) free.push_back(known);
    auto const meant = nearest_name(name, free);
    return meant.empty() ? meant : "; did you mean " + meant + "?";
}

IPYBOX_DECL std::optional<json_problem> strict_object::problem() {
    if (value_.is_object()) {
        for (auto const& [name, unused] : value_.items()) {
            if (!known_.contains(name)) fail(name, "no such member is known here" + meant_by(name));
        }
    }
    return problem_ ? problem_ : missing_;
}

IPYBOX_DECL result<void> strict_object::finish() {
    auto const found = problem();
    if (found) return failure(errc::invalid_argument, found->place + ": " + found->reason);
    return {};
}

} // namespace ipybox::detail
