#pragma once

#include <ipybox/app/host_turns.hpp>
#include <ipybox/app/impl/text_answer.hpp>

#include <asio/this_coro.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL host_turns::host_turns(asio::any_io_executor const& executor) : executor_(executor), free_(executor) {
    free_.expires_at(asio::steady_timer::time_point::max());
}

IPYBOX_DECL asio::awaitable<void> host_turns::wait() {
    while (taken_) {
        co_await detail::rest(free_);
        auto const state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) co_return;
    }
}

IPYBOX_DECL host_turns::turn::turn(host_turns& all, std::shared_ptr<mcp::server::call> const& call) : all_(all) {
    all_.taken_ = true;
    if (call->can_elicit()) all_.questions_ = call_questions::make(all_.executor_, call);
}

IPYBOX_DECL host_turns::turn::~turn() {
    if (auto const questions = std::exchange(all_.questions_, nullptr)) (void)questions->withdraw();
    all_.taken_ = false;
    all_.free_.cancel();
}

} // namespace ipybox
