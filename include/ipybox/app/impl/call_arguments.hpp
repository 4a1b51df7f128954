#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/packages/package_order.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/** \file
 * Arguments of a call. They fit the tool's schema already: what is missing is optional.
 */

namespace ipybox::detail {

inline nlohmann::ordered_json const* argument(mcp::server::call const& call, char const* name) {
    auto const found = call.arguments().find(name);
    return found != call.arguments().end() && !found->is_null() ? &*found : nullptr;
}

inline std::string text_of(mcp::server::call const& call, char const* name) {
    auto const* given = argument(call, name);
    return given != nullptr ? given->get<std::string>() : std::string();
}

/// Times of more than ten years are no different from ten years.
inline std::optional<std::chrono::milliseconds> seconds_of(mcp::server::call const& call, char const* name,
                                                           std::optional<std::chrono::milliseconds> otherwise) {
    constexpr double longest = 3.2e8;
    auto const* given = argument(call, name);
    if (given == nullptr) return otherwise;
    std::chrono::duration<double> const seconds(std::clamp(given->get<double>(), 0.0, longest));
    return std::chrono::ceil<std::chrono::milliseconds>(seconds);
}

/// Numbers that are too large for a size are as good as the largest.
inline std::size_t count_of(mcp::server::call const& call, char const* name, std::size_t otherwise) {
    constexpr double most = 1e15;
    auto const* given = argument(call, name);
    return given != nullptr ? static_cast<std::size_t>(std::clamp(given->get<double>(), 0.0, most)) : otherwise;
}

/// Code without the Markdown fence that models put around it, which is not Python.
inline std::string without_fence(std::string code) {
    auto const begin = code.find_first_not_of(" \t\r\n");
    auto const last = code.find_last_not_of(" \t\r\n");
    if (begin == code.npos || code.compare(begin, 3, "```") != 0) return code;
    auto const first_line = code.find('\n', begin);
    auto const last_line = code.rfind('\n', last);
    bool const is_closed = first_line != code.npos && last_line > begin && last_line != code.npos &&
                           std::string_view(code).substr(last_line + 1, last - last_line) == "```";
    if (!is_closed) return code;
    return last_line > first_line ? code.substr(first_line + 1, last_line - first_line - 1) : std::string();
}

/// The words behind `pip install`: `name`, `name==1.2` or `name>=1.2`. The user is asked about nothing else.
inline result<std::vector<std::string>> package_words(mcp::server::call const& call) {
    auto word = text_of(call, "package_name");
    auto const version = text_of(call, "version");
    bool const is_bare = !version.empty() && std::string("<>=!~").find(version.front()) == std::string::npos;
    std::vector<std::string> words{word + (is_bare ? "==" : "") + version};
    if (auto const order = read_package_order(words); !order) return failure(order.error());
    return words;
}

} // namespace ipybox::detail
