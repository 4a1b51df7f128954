#pragma once

#include <ipybox/execution/input_request.hpp>
#include <ipybox/execution/own_approval.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace ipybox {

/// How one execution is done. Members are given in this order.
struct execute_options {
    /// Time budget, from the moment the kernel gets the code; waiting for approvals does not count. None: no limit.
    std::optional<std::chrono::milliseconds> timeout = std::nullopt;

    /// Answers `input()`. Without it the code gets an error at once. Of a stream it is called when the reader has taken
    /// all that came before and waits for more.
    input_request::handler on_input = {};

    /// A name for people, on one line of at most 60 characters: tracebacks and warnings say "Cell In[3] (TITLE)".
    /// Kernels of `zmq_transport` take no notice.
    std::optional<std::string> title =
        std::nullopt; // optional: a default argument of a co_await expression survives GCC 12's double destruction

    /// The result has the value of the last expression as JSON (`execution_result::value`), where it can be one.
    bool want_value = false;

    /// An approval policy or callback that decides about the actions of this execution, in the place of the executor's
    /// policy: `.approval = auto_approval{}`. Rules, grants, switches and the audit log hold as they do for all.
    /// `stream_reader_approval{}` asks the reader of its stream. None: the executor's policy.
    detail::own_approval approval = {};

    /// Of a stream: whether it has output text as it comes, besides displays and the result.
    bool chunks = true;
};

} // namespace ipybox
