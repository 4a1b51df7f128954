#pragma once

#include <ipybox/async/spawn.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/co_spawn.hpp>

namespace ipybox::detail {

IPYBOX_DECL void spawn(asio::any_io_executor const& executor, asio::awaitable<void> work, on_coroutine_end ended,
                       asio::cancellation_slot slot) {
    auto on_end = [ended = std::move(ended)](std::exception_ptr thrown) mutable {
        if (ended) ended(thrown);
    };
    asio::co_spawn(executor, std::move(work), asio::bind_cancellation_slot(slot, std::move(on_end)));
}

} // namespace ipybox::detail
