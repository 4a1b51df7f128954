#pragma once

namespace ipybox::mcp::detail {

// ASCII, whatever the locale.
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_word(char c) noexcept { return is_letter(c) || is_digit(c) || c == '_'; }

} // namespace ipybox::mcp::detail
