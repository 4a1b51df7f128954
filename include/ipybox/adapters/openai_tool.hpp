#pragma once

#include <ipybox/adapters/code_tool_adapter.hpp>
#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <utility>

namespace ipybox {

/// The two ways of the OpenAI API to write a tool down.
enum class openai_api {
    chat_completions, ///< `/v1/chat/completions`, which other servers have too
    responses         ///< `/v1/responses`
};

/**
 * \brief An executor as a function tool of the OpenAI API.
 * \details `definition()` goes into `tools` of a request, `answer()` makes the message for a call of the model, and
 * `call()` has the outputs of `code_interpreter`: for applications that show them.
 * \par Thread safety and object lifetimes as code_tool
 * \par Example
 * \snippet 24_agent_loop.cpp loop
 */
class openai_tool : public detail::code_tool_adapter {
  public:
    using code_tool_adapter::code_tool_adapter;

    /// The entry in `tools` of a request.
    [[nodiscard]] nlohmann::json definition(openai_api api = openai_api::chat_completions) const;

    /// Runs code. \return an item `code_interpreter_call`: `status`, `code`, and `outputs` of the types `logs` and
    /// `image` (a data URL). Throws nothing.
    [[nodiscard]] nlohmann::json call(nlohmann::json const& arguments) const;

    /**
     * \brief Does what the model has asked for, and makes the message with the answer.
     * \details A call of another function, and arguments that are not JSON, are answers that say so.
     * \param asked an element of `tool_calls`, or an item `function_call` of the Responses API
     * \return a message of the role `tool`, or an item `function_call_output`
     */
    [[nodiscard]] nlohmann::json answer(nlohmann::json const& asked) const;
};

/// The executor as an OpenAI function; it must outlive the tool.
[[nodiscard]] inline openai_tool as_openai_tool(executor_base& box, code_tool_options options = {}) {
    return openai_tool(code_tool(box, std::move(options)));
}

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/adapters/impl/openai_tool.ipp>
#endif
