#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/tools/tool_result.hpp>

#include <asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include <exception>
#include <memory>
#include <string>

namespace ipybox::detail {

class host_call;

/// How a function answers.
enum class tool_style {
    blocking,  ///< by returning
    callback,  ///< by a `tool_reply`, when it likes
    coroutine, ///< by what its coroutine returns
};

/// The function of a host tool with its type erased. It may be called several times at once.
class tool_body {
  public:
    tool_body() = default;
    tool_body(tool_body const&) = delete;
    tool_body& operator=(tool_body const&) = delete;
    virtual ~tool_body() = default;

    [[nodiscard]] virtual tool_style style() const noexcept = 0;

    /// A pointer or a `std::function` that calls nothing.
    [[nodiscard]] virtual bool is_empty() const noexcept = 0;

    /// Calls a function that is not a coroutine; it settles the call. May throw what the function throws.
    virtual void call(std::shared_ptr<host_call> const& call, nlohmann::json arguments) = 0;

    /// Begins a coroutine. It owns what it needs; `self` is this body.
    [[nodiscard]] virtual asio::awaitable<tool_result>
    begin(std::shared_ptr<tool_body> self, std::shared_ptr<host_call> call, nlohmann::json arguments) = 0;
};

/// The text of an exception of the application's function, for the code that called it.
[[nodiscard]] inline std::string text_of(std::exception_ptr const& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (std::exception const& e) {
        if (auto const* const text = e.what()) return text;
    } catch (...) {} // NOLINT(bugprone-empty-catch): said below
    return "an exception of an unknown type";
}

} // namespace ipybox::detail
