#pragma once

#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>

#include <memory>
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
        model(Handler h, asio::any_io_executor const& fallback)
            : executor(asio::prefer(asio::any_io_executor(asio::get_associated_executor(h, fallback)),
                                    asio::execution::outstanding_work.tracked)),
              handler(std::move(h)) {}

        void deliver(std::unique_ptr<base> self, T value) override {
            auto const target = executor;
            // The model goes along, so that the tracked work ends only after the handler ran.
            asio::post(target, [self = std::move(self), value = std::move(value)]() mutable {
                auto& model_ = static_cast<model&>(*self);
                auto h = std::move(model_.handler);
                auto work = std::move(model_.executor);
                self.reset();
                std::move(h)(std::move(value));
            });
        }

        [[nodiscard]] asio::cancellation_slot slot() const noexcept override {
            return asio::get_associated_cancellation_slot(handler);
        }

        asio::any_io_executor executor;
        Handler handler;
    };

    std::unique_ptr<base> model_;
};

} // namespace ipybox::detail
