#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/session/pending_call.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::detail {

class event_queue;
class job_core;

/// One execution that was submitted. Its outcome goes to `done`, or as the last event to `events`.
struct execution final : pending_call {
    std::string code;
    execute_options options;
    completion<result<execution_result>> done;
    std::shared_ptr<event_queue> events;
    std::shared_ptr<job_core> job; ///< which it is; its outcome goes there by `done`
    bool chunks = true;
    std::string value_expression; ///< of a value that is asked for
    bool of_value = false; ///< that alone, without code: what it puts out meanwhile is left to the next execution
    bool finishes = false; ///< without code: ends the kernel

    struct ending {
        errc reason;
        bool at_once = false; ///< without waiting for the code: its kernel goes too
    };
    std::optional<ending> unwanted; ///< it is to end
    bool begun = false;             ///< there is a kernel for it

    void complete(result<execution_result> outcome);
    void fail(error why) override { complete(failure(std::move(why))); }
    [[nodiscard]] bool waits_its_turn() const noexcept override { return true; }
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/execution.ipp>
#endif
