#pragma once

#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/dispatch.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace ipybox::detail {

/**
 * \brief A completion handler for `void(T)` with its type erased, for bodies that are compiled once.
 * \details Asio 1.22 has no `any_completion_handler`. Called at most once; posts to the handler's associated executor, which it keeps
 * at work meanwhile. A completion that is dropped uncalled drops its handler with it.
 * \par Thread safety May be called from any thread.
 */
template <class T>
class completion {
  public:
    completion() noexcept = default;

    template <class Handler>
    completion(Handler handler, asio::any_io_executor const& fallback)
        : model_(std::make_unique<model<Handler>>(std::move(handler), fallback)) {}

    [[nodiscard]] explicit operator bool() const noexcept { return model_ != nullptr; }

    /// Delivers the value; afterwards the completion is empty.
    void operator()(T value) {
        auto& target = *model_;
        target.deliver(std::exchange(model_, nullptr), std::move(value));
    }

    /// The handler's cancellation slot. The operation clears it before it delivers.
    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return model_->slot(); }

  private:
    struct base {
        base() = default;
        base(base const&) = delete;
        base& operator=(base const&) = delete;
        virtual ~base() = default;
        virtual void deliver(std::unique_ptr<base> self, T value) = 0;
        [[nodiscard]] virtual asio::cancellation_slot slot() const noexcept = 0;
    };

    template <class Handler>
    struct model final : base {
        // use_future's executor cannot be erased; it sets the promise wherever it is called, and nothing of the caller's runs in it.
        using own_executor = asio::associated_executor_t<Handler, asio::any_io_executor>;
        static constexpr bool sets_a_promise = !std::is_convertible_v<own_executor, asio::any_io_executor>;
        using executor_type = std::conditional_t<sets_a_promise, own_executor, asio::any_io_executor>;

        model(Handler h, asio::any_io_executor const& fallback)
            : executor(asio::get_associated_executor(h, fallback)), handler(std::move(h)) {
            if constexpr (!sets_a_promise) executor = asio::prefer(executor, asio::execution::outstanding_work.tracked);
        }

        void deliver(std::unique_ptr<base> self, T value) override {
            auto const target = executor;
            // The model goes along, so that the tracked work ends only after the handler ran.
            auto call = [self = std::move(self), value = std::move(value)]() mutable {
                auto& mine = static_cast<model&>(*self);
                auto h = std::move(mine.handler);
                auto const work = std::move(mine.executor);
                self.reset();
                std::move(h)(std::move(value));
            };
            if constexpr (sets_a_promise)
                asio::dispatch(target, std::move(call));
            else
                asio::post(target, std::move(call));
        }

        [[nodiscard]] asio::cancellation_slot slot() const noexcept override {
            return asio::get_associated_cancellation_slot(handler);
        }

        executor_type executor;
        Handler handler;
    };

    std::unique_ptr<base> model_;
};

} // namespace ipybox::detail
