#pragma once

#include <ipybox/async/await_completion.hpp>

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/use_awaitable.hpp>

#include <memory>

namespace ipybox::detail {

/// Resumes a coroutine once its place is filled. The coroutine belongs to `Handler`, so the place is there until then.
template <class Handler>
class resumption final : public erased_handler {
  public:
    resumption(value_place place, Handler handler) : place_(place), handler_(std::move(handler)) {}
    void keep(void* value) override { place_.fill(value); }
    void call() override { std::move(handler_)(); }

  private:
    value_place const place_;
    Handler handler_;
};

IPYBOX_DECL asio::awaitable<void> await_filled(value_place place, move_only_function<void(untyped_completion)>& start) {
    auto initiation = [place, &start](auto handler) {
        asio::any_io_executor const executor = asio::get_associated_executor(handler);
        auto const slot = asio::get_associated_cancellation_slot(handler);
        std::unique_ptr<erased_handler> resumed(new resumption<decltype(handler)>(place, std::move(handler)));
        start(untyped_completion(std::move(resumed), slot, executor, executor, waiting_work::tracked));
    };
    return asio::async_initiate<asio::use_awaitable_t<> const, void()>(initiation, asio::use_awaitable);
}

} // namespace ipybox::detail
