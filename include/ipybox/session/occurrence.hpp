#pragma once

#include <ipybox/async/mailbox.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <variant>

/// The events that can happen while code runs.
namespace ipybox::detail::occurrence {

struct kernel_ended {
    error why;
};

struct input_answered {
    unsigned question;                 ///< which one, as counted by the session
    std::unique_ptr<std::string> line; ///< none: refused
    nlohmann::json request_header;
};

struct link_called {
    unsigned serial; ///< of the execution that called
    result<void> outcome;
    bool answered = false; ///< it was an answer to `input()`
};

struct approvals_waiting {
    std::size_t count;                        ///< requests that wait for a decision
    std::chrono::steady_clock::time_point at; ///< since when
};

struct interrupt_wanted {}; ///< by the application, of this execution

struct nudge {}; ///< look at the execution's `unwanted`

using any = std::variant<jupyter::message, kernel_ended, input_answered, link_called, approvals_waiting,
                         interrupt_wanted, nudge>;

} // namespace ipybox::detail::occurrence

namespace ipybox::detail {

/// The events of the execution that runs.
using execution_inbox = mailbox<occurrence::any>;

} // namespace ipybox::detail
