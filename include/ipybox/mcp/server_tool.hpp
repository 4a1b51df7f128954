#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/tool.hpp>

#include <asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ipybox::mcp {

struct call_result;
class server_call;

/// Whether calls of a tool may become tasks, which the client asks for instead of waiting.
enum class task_support { forbidden, optional };

/**
 * \brief A tool that a server offers: what clients are told, and what serves a call.
 * \details The handler is a coroutine on the executor that `server::serve` runs on, one for each call, as many beside
 * each other as clients ask for. A tool that fails returns a
 * result with `is_error` and the reason; what a handler throws becomes one. Cancellation (by the client, or because the
 * client is gone) reaches the coroutine
 * as asio's cancellation does, of every type; its result is then dropped.
 */
struct server_tool {
    using handler_type = std::function<asio::awaitable<call_result>(std::shared_ptr<server_call>)>;

    /// Says what is wrong with arguments: "count has to be a number, not \"x\""; nothing where they fit.
    using checker_type = std::function<std::optional<std::string>(nlohmann::json const& arguments)>;

    mcp::tool definition; ///< name, title, description, schemas, annotations
    handler_type handler;
    checker_type check = {}; ///< none: the input schema decides, which then must not use what `find_unchecked` names
    task_support tasks = task_support::forbidden;

    /// How long a client that takes tasks by itself (2026-07-28) waits for the result before it gets a task instead.
    std::chrono::milliseconds task_after = std::chrono::seconds(5);
};

} // namespace ipybox::mcp
