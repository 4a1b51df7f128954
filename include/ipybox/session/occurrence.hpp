#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

/// What can happen while code runs.
namespace ipybox::detail::occurrence {

struct kernel_ended {
    error why;
};

struct input_answered {
    unsigned question;                 ///< which one, as counted by the session
    std::unique_ptr<std::string> line; ///< none: refused
    jupyter::json request_header;
};

struct link_called {
    unsigned serial; ///< of the execution that called
    result<void> outcome;
    bool answered = false; ///< it was an answer to `input()`
};

struct approvals_waiting {
    std::size_t count; ///< requests that wait for a decision
};

struct nudge {}; ///< look at the execution's `unwanted`

using any = std::variant<jupyter::message, kernel_ended, input_answered, link_called, approvals_waiting, nudge>;

} // namespace ipybox::detail::occurrence
