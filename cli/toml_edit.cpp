#include <ipybox/core/hex.hpp>

#include <cli/toml_edit.hpp>

#include <algorithm>
#include <cstddef>

namespace ipybox::cli {
namespace {

constexpr auto nowhere = std::string_view::npos;
using key_parts = std::vector<std::string>;

/// A header, or a key with its value, which may have several lines.
struct toml_statement {
    std::size_t begin = 0; ///< of its line
    std::size_t end = 0;   ///< behind its last line
    bool is_header = false;
    key_parts key;
};

/// The parts of a key, `a."b".c`, and the position behind it.
key_parts parts_of_key(std::string_view text, std::size_t& at) {
    key_parts parts;
    for (;;) {
        at = std::min(text.find_first_not_of(" \t", at), text.size());
        if (at == text.size()) return parts;
        if (text[at] == '"' || text[at] == '\'') {
            auto const end = text.find(text[at], at + 1);
            if (end == nowhere) return parts;
            parts.emplace_back(text.substr(at + 1, end - at - 1));
            at = end + 1;
        } else {
            auto const end = std::min(text.find_first_of(" \t.=]\r\n#", at), text.size());
            parts.emplace_back(text.substr(at, end - at));
            at = end;
        }
        at = std::min(text.find_first_not_of(" \t", at), text.size());
        if (at == text.size() || text[at] != '.') return parts;
        ++at;
    }
}

/// Behind a string that begins here.
std::size_t behind_string(std::string_view text, std::size_t at) {
    char const quote = text[at];
    std::string const triple(3, quote);
    bool const is_long = text.compare(at, 3, triple) == 0;
    auto const end = is_long ? std::string_view(triple) : std::string_view(triple).substr(0, 1);
    for (at += end.size(); at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\') {
            ++at;
        } else if (text.compare(at, end.size(), end) == 0) {
            at += end.size();
            while (is_long && at < text.size() && text[at] == quote) ++at; // """a""""
            return at;
        } else if (!is_long && text[at] == '\n') {
            return at;
        }
    }
    return text.size();
}

/// Behind the line on which a value ends that begins here.
std::size_t behind_value(std::string_view text, std::size_t at) {
    int depth = 0;
    while (at < text.size()) {
        char const c = text[at];
        if (c == '"' || c == '\'') {
            at = behind_string(text, at);
            continue;
        }
        if (c == '#') {
            at = std::min(text.find('\n', at), text.size());
            continue;
        }
        ++at;
        if (c == '[' || c == '{') ++depth;
        if (c == ']' || c == '}') --depth;
        if (c == '\n' && depth <= 0) return at;
    }
    return at;
}

std::vector<toml_statement> toml_statements(std::string_view text) {
    std::vector<toml_statement> all;
    for (std::size_t at = 0; at < text.size();) {
        toml_statement next;
        next.begin = at;
        auto first = text.find_first_not_of(" \t", at);
        auto const line_end = std::min(text.find('\n', at), text.size() - 1) + 1;
        if (first == nowhere || first >= line_end || text[first] == '\n' || text[first] == '\r' || text[first] == '#') {
            at = line_end;
            continue;
        }
        next.is_header = text[first] == '[';
        if (next.is_header) {
            first = text.find_first_not_of('[', first);
            if (first != nowhere) next.key = parts_of_key(text.substr(0, line_end), first);
            at = line_end;
        } else {
            next.key = parts_of_key(text.substr(0, line_end), first);
            at = behind_value(text, first);
        }
        next.end = at;
        all.push_back(std::move(next));
    }
    return all;
}

bool is_below(key_parts const& key, std::string_view group, std::string_view name) {
    return key.size() >= 2 && key[0] == group && key[1] == name;
}

/// A table: its header and its keys.
struct toml_table {
    toml_statement header;
    std::vector<toml_statement> keys;
};

struct found_toml_tables {
    std::vector<toml_table> own; ///< the table, and those below it
    bool is_elsewhere = false;   ///< in another form
};

found_toml_tables find_toml_tables(std::string_view text, std::string_view group, std::string_view name) {
    found_toml_tables found;
    key_parts current;
    for (auto const& each : toml_statements(text)) {
        if (each.is_header) {
            current = each.key;
            if (is_below(current, group, name)) found.own.push_back({each, {}});
            continue;
        }
        if (is_below(current, group, name)) {
            found.own.back().keys.push_back(each);
            continue;
        }
        auto whole = current;
        whole.insert(whole.end(), each.key.begin(), each.key.end());
        bool const is_whole_group = whole.size() == 1 && whole[0] == group;
        if (is_whole_group || is_below(whole, group, name)) found.is_elsewhere = true;
    }
    return found;
}

auto in_another_form(std::string_view group, std::string_view name) {
    return failure(errc::invalid_argument, "\"" + std::string(group) + "." + std::string(name) +
                                               "\" is not written as one table [" + std::string(group) + "." +
                                               std::string(name) + "]");
}

std::string toml_line(std::string const& key, std::string const& value, std::string const& line_end) {
    return key + " = " + value + line_end;
}

} // namespace

std::string toml_string(std::string_view text) {
    std::string quoted = "\"";
    for (char const c : text) {
        auto const code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            quoted.append({'\\', c});
        else if (code < 0x20 || code == 0x7F)
            quoted.append("\\u00").append({hex_digits[code >> 4], hex_digits[code & 15]});
        else
            quoted += c;
    }
    return quoted + "\"";
}

result<std::string> with_toml_table(std::string_view text, std::string_view group, std::string_view name,
                                    toml_entries const& set, toml_entries const& unset) {
    std::string const line_end = text.find("\r\n") != nowhere ? "\r\n" : "\n";
    auto const found = find_toml_tables(text, group, name);
    if (found.is_elsewhere) return in_another_form(group, name);
    auto const is_itself = [](toml_table const& each) { return each.header.key.size() == 2; };
    if (std::ranges::count_if(found.own, is_itself) > 1) return in_another_form(group, name);
    auto const itself = std::ranges::find_if(found.own, is_itself);
    std::string made;
    if (itself == found.own.end()) {
        made = text;
        if (!made.empty() && !made.ends_with('\n')) made += line_end;
        if (!made.empty()) made += line_end;
        made.append("[").append(group).append(".").append(name).append("]").append(line_end);
        for (auto const& [key, value] : set) made += toml_line(key, value, line_end);
        for (auto const& [key, value] : unset) made += toml_line(key, value, line_end);
        return made;
    }
    made = text.substr(0, itself->header.end);
    if (!made.ends_with('\n')) made += line_end;
    for (auto const& [key, value] : set) made += toml_line(key, value, line_end);
    auto const is_there = [&](std::string const& key) {
        return std::ranges::any_of(itself->keys, [&](auto const& each) { return each.key == key_parts{key}; });
    };
    for (auto const& [key, value] : unset)
        if (!is_there(key)) made += toml_line(key, value, line_end);
    auto at = itself->header.end;
    for (auto const& each : itself->keys) {
        bool const is_set =
            std::ranges::any_of(set, [&](auto const& entry) { return each.key == key_parts{entry.first}; });
        if (!is_set) continue;
        made += text.substr(at, each.begin - at);
        at = each.end;
    }
    return made + std::string(text.substr(at));
}

result<std::string> without_toml_table(std::string_view text, std::string_view group, std::string_view name) {
    auto const found = find_toml_tables(text, group, name);
    if (found.is_elsewhere) return in_another_form(group, name);
    std::string made;
    std::size_t at = 0;
    for (auto const& each : found.own) {
        made += text.substr(at, each.header.begin - at);
        at = each.keys.empty() ? each.header.end : each.keys.back().end;
    }
    made += text.substr(at);
    // The empty line that was put before it.
    if (at == text.size() && at > 0)
        while (made.ends_with("\n\n")) made.pop_back();
    return made == "\n" ? std::string() : made;
}

} // namespace ipybox::cli
