#pragma once

#include <ipybox/mcp/server_declaration.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
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

/// The words behind `pip install`: `name`, `name==1.2` or `name>=1.2`.
inline std::vector<std::string> package_words(mcp::server::call const& call) {
    auto word = text_of(call, "package_name");
    auto const version = text_of(call, "version");
    bool const is_bare = !version.empty() && std::string("<>=!~").find(version.front()) == std::string::npos;
    return {word + (is_bare ? "==" : "") + version};
}

} // namespace ipybox::detail
