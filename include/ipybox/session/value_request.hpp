#pragma once

#include <ipybox/core/error.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/execution/json_value.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/** \file
 * Values of a Python kernel as JSON. They are asked for by an expression that the kernel evaluates behind the code of a
 * request, and answers in its reply (Jupyter messaging, "Execute", `user_expressions`): so forked kernels and stock
 * ones do the same. python/ipybox_kernel/values.py has the functions.
 */

namespace ipybox::detail {

/// The bounds of one value as JSON.
inline constexpr std::size_t longest_value = std::size_t(1) << 20;
inline constexpr std::size_t most_values = 100'000;

/// The name of the expression in requests and replies.
inline constexpr char const* value_expression_name = "ipybox_value";

/// The value of the last expression of the code.
[[nodiscard]] std::string last_value_expression();

/**
 * \brief The value of a variable, and its being set.
 * \par Errors errc::invalid_argument — the name is not an ASCII identifier of Python; the JSON is longer than one value
 * may be
 */
[[nodiscard]] result<std::string> get_expression(std::string_view name);
[[nodiscard]] result<std::string> put_expression(std::string_view name, std::string_view text);

/// The JSON of a value. \par Errors errc::invalid_argument — it has a number that is not finite, text that is not
/// UTF-8, or is nested too deeply
[[nodiscard]] result<std::string> text_of(nlohmann::ordered_json const& value);
[[nodiscard]] result<std::string> text_of(nlohmann::json const& value);

/// The value in a reply.
struct value_answer {
    json_value value;                                 ///< none: see the others
    std::string missing;                              ///< why there is none, in one line
    std::optional<error::python_exception> exception; ///< raised by the expression
};

/// Takes the answer out of the content of an execute_reply, which is not trusted; null where there is none.
[[nodiscard]] std::shared_ptr<value_answer> take_value(nlohmann::json& reply);

/// Why there is no answer.
inline constexpr char const* no_answer = "the kernel evaluates no expressions: values need one with IPython";

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/value_request.ipp>
#endif
