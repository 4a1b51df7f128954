#pragma once

#include <ipybox/core/config.hpp>

#include <exception>
#include <string>

namespace ipybox::mcp::detail {

/// The text of the exception that is being handled. Callbacks and channels of the application throw what they like.
[[nodiscard]] inline std::string thrown_text() {
    try {
        throw;
    } catch (std::exception const& e) { return e.what(); } catch (...) {
        return "an exception of an unknown type";
    }
}

/// Calls what only tells the application something. Its exceptions must not end the thread that reads from the server.
template <class Callback, class... Values>
void tell(Callback const& callback, Values const&... values) noexcept {
    try {
        callback(values...);
    } catch (...) {} // NOLINT(bugprone-empty-catch): no one waits for it
}

} // namespace ipybox::mcp::detail
