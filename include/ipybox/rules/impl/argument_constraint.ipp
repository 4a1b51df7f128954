#pragma once

#include <ipybox/core/same_json.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/rules/argument_constraint.hpp>
#include <ipybox/rules/wildcard.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

inline constexpr std::array<std::pair<std::string_view, detail::comparison>, 9> comparison_names{
    {{"==", detail::comparison::equal},
     {"!=", detail::comparison::not_equal},
     {"<", detail::comparison::less},
     {"<=", detail::comparison::at_most},
     {">", detail::comparison::greater},
     {">=", detail::comparison::at_least},
     {"in", detail::comparison::one_of},
     {"matches", detail::comparison::matches},
     {"prefix", detail::comparison::prefix}}};

/// The reference tokens of a path (RFC 6901 section 4); none where it is malformed.
inline std::optional<std::vector<std::string>> steps_of(std::string_view path) {
    std::vector<std::string> steps;
    if (path.empty()) return steps;
    if (path.front() != '/') return std::vector{std::string(path)};
    while (!path.empty()) {
        std::size_t taken = 1;
        if (path.front() == '/') {
            steps.emplace_back();
        } else if (path.front() != '~') {
            steps.back() += path.front();
        } else if (path.starts_with("~0") || path.starts_with("~1")) {
            steps.back() += path[1] == '0' ? '~' : '/';
            taken = 2;
        } else {
            return std::nullopt;
        }
        path.remove_prefix(taken);
    }
    return steps;
}

inline nlohmann::ordered_json const* step_into(nlohmann::ordered_json const& container, std::string const& step) {
    if (container.is_object()) {
        auto const found = container.find(step);
        return found == container.end() ? nullptr : &*found;
    }
    bool const is_index = !step.empty() && step.size() < 10 && (step == "0" || step.front() != '0') &&
                          step.find_first_not_of("0123456789") == std::string::npos;
    if (!container.is_array() || !is_index) return nullptr;
    auto const index = static_cast<std::size_t>(std::stoul(step));
    return index < container.size() ? &container[index] : nullptr;
}

/// Texts and numbers have an order; nothing else has.
IPYBOX_DECL std::optional<std::partial_ordering> order(nlohmann::json const& a, nlohmann::json const& b) {
    if (a.is_number() && b.is_number()) return compare_numbers(a, b);
    if (!a.is_string() || !b.is_string()) return std::nullopt;
    return a.get_ref<std::string const&>() <=> b.get_ref<std::string const&>();
}

inline match compare_argument(nlohmann::json const& argument, detail::comparison op, nlohmann::json const& value) {
    bool const same_type = argument.type() == value.type() || (argument.is_number() && value.is_number());
    bool const is_nan = argument.is_number_float() && std::isnan(argument.get<double>());
    if (is_nan) return match::unsure;
    // Perhaps an integer that was rounded: equal then says nothing.
    bool const rounded = argument.is_number_float() && std::abs(argument.get<double>()) >= 0x1p63;
    if (rounded && (op == detail::comparison::equal || op == detail::comparison::not_equal) && value.is_number())
        return match::unsure;
    switch (op) {
    case detail::comparison::equal: return same_type ? match_if(same_json(argument, value)) : match::unsure;
    case detail::comparison::not_equal: return same_type ? match_if(!same_json(argument, value)) : match::unsure;
    case detail::comparison::one_of: {
        auto found = value.is_array() ? match::no : match::unsure;
        for (auto const& element : value)
            found = std::max(found, compare_argument(argument, detail::comparison::equal, element));
        return found;
    }
    case detail::comparison::matches:
    case detail::comparison::prefix: {
        if (!argument.is_string() || !value.is_string()) return match::unsure;
        auto const& text = argument.get_ref<std::string const&>();
        // A program in C reads it up to there: "/etc/shadow\0.csv" ends with ".csv" for a rule alone.
        if (text.find('\0') != std::string::npos) return match::unsure;
        auto const& wanted = value.get_ref<std::string const&>();
        return match_if(op == detail::comparison::prefix ? text.starts_with(wanted) : wildcard(wanted).matches(text));
    }
    default: break;
    }
    auto const ordered = order(argument, value);
    if (!ordered) return match::unsure;
    switch (op) {
    case detail::comparison::less: return match_if(*ordered < 0);
    case detail::comparison::at_most: return match_if(*ordered <= 0);
    case detail::comparison::greater: return match_if(*ordered > 0);
    case detail::comparison::at_least: return match_if(*ordered >= 0);
    default: return match::unsure;
    }
}

} // namespace detail

IPYBOX_DECL match argument_constraint::covers(nlohmann::ordered_json const& arguments) const {
    auto const steps = detail::steps_of(path);
    if (!steps) return match::unsure;
    auto const* argument = &arguments;
    for (auto const& step : *steps) {
        argument = detail::step_into(*argument, step);
        if (!argument) return match::unsure;
    }
    return detail::compare_argument(nlohmann::json(*argument), op, value);
}

IPYBOX_DECL nlohmann::json argument_constraint::to_json() const {
    auto const name = std::find_if(detail::comparison_names.begin(), detail::comparison_names.end(),
                                   [this](auto const& known) { return known.second == op; });
    return {{"path", path}, {"op", name->first}, {"value", value}};
}

IPYBOX_DECL result<argument_constraint> argument_constraint::from_json(nlohmann::json const& value,
                                                                       std::string const& where) {
    detail::strict_object reader(value, where);
    auto path = reader.text("path");
    auto const op_name = reader.text("op");
    auto const* wanted = reader.find("value");
    if (!path || !detail::steps_of(*path)) reader.fail("path", "the name of an argument or a JSON pointer is wanted");
    auto const op = std::find_if(detail::comparison_names.begin(), detail::comparison_names.end(),
                                 [&](auto const& known) { return op_name == known.first; });
    if (op == detail::comparison_names.end()) {
        reader.fail("op", "one of ==, !=, <, <=, >, >=, in, matches, prefix is wanted");
    } else if (!wanted) {
        reader.fail("value", "a value to compare with is wanted");
    } else if (op->second == detail::comparison::one_of) {
        if (!wanted->is_array() || wanted->empty()) reader.fail("value", "an array of values is wanted");
    } else if (op->second == detail::comparison::matches || op->second == detail::comparison::prefix) {
        if (!wanted->is_string()) reader.fail("value", "text is wanted");
    } else if (op->second != detail::comparison::equal && op->second != detail::comparison::not_equal) {
        if (!wanted->is_number() && !wanted->is_string()) reader.fail("value", "a number or text is wanted");
    }
    if (auto read = reader.finish(); !read) return failure(read);
    return argument_constraint{std::move(*path), op->second, *wanted};
}

} // namespace ipybox
