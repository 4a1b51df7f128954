#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

/** \file
 * The two doors through which texts of strangers enter Python code: literals and docstrings. Invisible characters are
 * written as escapes, so that what a person reads is what runs.
 */

namespace ipybox::codegen {

/// The text with U+FFFD where it is not UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// A string literal on one line, in double quotes.
[[nodiscard]] std::string string_literal(std::string_view text);

/// The value as an expression of Python; whole numbers as integers.
[[nodiscard]] std::string value_literal(nlohmann::ordered_json const& value);

/// A text as a docstring, `"""Text."""`; `indent` stands before all its lines but the first.
[[nodiscard]] std::string docstring(std::string_view text, std::string_view indent);

/// The lines of a text without the blanks around it, and without the indentation that all but the first have in common.
[[nodiscard]] std::string dedented(std::string_view text);

/// The text on one line: white space of any kind becomes one blank.
[[nodiscard]] std::string one_line(std::string_view text);

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/python_literal.ipp>
#endif
