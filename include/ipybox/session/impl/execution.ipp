#pragma once

#include <ipybox/session/event_queue.hpp>
#include <ipybox/session/execution.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL void execution::complete(result<execution_result> outcome) {
    if (!first()) return;
    if (events)
        events->finish(std::move(outcome));
    else
        done(std::move(outcome));
}

} // namespace ipybox::detail
