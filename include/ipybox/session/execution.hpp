#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/session/event_queue.hpp>
#include <ipybox/session/pending_call.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::detail {

/// One execution that was submitted. Its outcome goes to `done`, or as the last event to `events`.
struct execution final : pending_call {
    std::string code;
    execute_options options;
    completion<result<execution_result>> done;
    std::shared_ptr<event_queue> events;
    chunk_events chunks = chunk_events::on;
    bool finishes = false; ///< without code: ends the kernel

    struct ending {
        errc reason;
        bool at_once = false; ///< without waiting for the code: its kernel goes too
    };
    std::optional<ending> unwanted; ///< it is to end
    bool begun = false;             ///< there is a kernel for it

    void settle(result<execution_result> outcome) {
        if (!first()) return;
        if (events)
            events->finish(std::move(outcome));
        else
            done(std::move(outcome));
    }
    void fail(error why) override { settle(failure(std::move(why))); }
};

} // namespace ipybox::detail
