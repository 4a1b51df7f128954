#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/tools/tool_result.hpp>
#include <ipybox/tools/tool_return.hpp>

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace ipybox {
namespace detail {

class host_call;

/// Brings the answer of a call; false where it has an outcome already.
bool answer(host_call& call, tool_result answered);

/// The bounds of the conversion of its arguments.
[[nodiscard]] check_budget& budget_of(host_call& call);

} // namespace detail

/**
 * \brief The answer of a host tool that is given later: a function that has a `tool_reply<T>` as its last parameter
 * returns nothing, and calls it when it likes.
 * \details Copies share the call; the first answer counts, and one that comes too late is ignored. When the last copy
 * goes without an answer, the call fails.
 * \par Thread safety Safe.
 */
template <class T>
class tool_reply {
  public:
    /// The type of the result.
    using value_type = T;

    /// Made by the library.
    explicit tool_reply(std::shared_ptr<detail::host_call> call) : call_(std::move(call)) {}

    /// Gives the answer. \return whether it was waited for
    bool operator()(T value) const {
        if (!call_) return false; // moved from
        try {
            return detail::answer(*call_, detail::to_tool_result(std::move(value)));
        } catch (std::exception const& e) { return fail(std::string("the result has ") + e.what()); }
    }

    /// The tool failed; the text is for the code that called it. \return whether it was waited for
    bool fail(std::string text) const { return call_ && detail::answer(*call_, tool_result::failed(std::move(text))); }

  private:
    std::shared_ptr<detail::host_call> call_;
};

/// The same for a tool that returns nothing.
template <>
class tool_reply<void> {
  public:
    /// There is no result.
    using value_type = void;

    /// Made by the library.
    explicit tool_reply(std::shared_ptr<detail::host_call> call) : call_(std::move(call)) {}

    /// The call has succeeded. Returns whether this was the first answer.
    bool operator()() const { return call_ && detail::answer(*call_, tool_result::value(nullptr)); }
    /// The call has failed; the code gets the text. Returns whether this was the first answer.
    bool fail(std::string text) const { return call_ && detail::answer(*call_, tool_result::failed(std::move(text))); }

  private:
    std::shared_ptr<detail::host_call> call_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/tool_reply.ipp>
#endif
