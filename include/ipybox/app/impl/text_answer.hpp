#pragma once

#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/raw_json.hpp>

#include <asio/awaitable.hpp>
#include <asio/error_code.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>

/** \file
 * Answers of the tools of `code_tools`, and their waiting for timers.
 */

namespace ipybox::detail {

inline mcp::call_result text_answer(std::string text) {
    mcp::call_result answer;
    answer.content.emplace_back(mcp::content::text{std::move(text)});
    return answer;
}

inline mcp::call_result failed_answer(std::string text) {
    auto answer = text_answer(std::move(text));
    answer.is_error = true;
    return answer;
}

inline void structure(mcp::call_result& answer, nlohmann::ordered_json const& value) {
    if (auto text = mcp::raw_json::of(value)) answer.structured_content = *std::move(text);
}

/// Waits for a timer, however that ends.
inline asio::awaitable<void> rest(asio::steady_timer& timer) {
    asio::error_code ended;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
}

} // namespace ipybox::detail
