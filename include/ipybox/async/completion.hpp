#pragma once

#include <ipybox/async/context_waiters.hpp>
#include <ipybox/async/executor_lender.hpp>
#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/dispatch.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/prefer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ipybox::detail {

/// Whether a completion keeps its context at work while it waits.
enum class waiting_work { tracked, untracked };

/// A handler that needs no context: called by the thread that completes, which it must not hold up.
template <class Function>
struct called_in_place {
    Function function;
};
template <class Function>
called_in_place(Function) -> called_in_place<Function>;

/**
 * \brief A completion handler for `void(T)` with its type erased, for bodies that are compiled once.
 * \details Asio 1.22 has no `any_completion_handler`. Called at most once; posts to the handler's associated executor,
 * which it keeps at work meanwhile. The handler belongs to the context of that executor, wherever the completion waits:
 * when the context is destroyed first, the handler is destroyed with it, uncalled, and completing does nothing any
 * more. A completion that is dropped uncalled has its handler destroyed where it would have run.
 * \par Thread safety May be called from any thread.
 */
template <class T>
class completion {
  public:
    completion() noexcept = default;

    /// `fallback` is for a handler without an executor of its own; the caller sees to it that its context stays
    /// meanwhile.
    template <class Handler>
    completion(Handler handler, asio::any_io_executor const& fallback, waiting_work work = waiting_work::tracked)
        : model_(make(std::move(handler), own_executor(fallback), work)) {}

    /// The same for an executor whose context another thread may destroy.
    template <class Handler>
    completion(Handler handler, executor_lender const& fallback, waiting_work work = waiting_work::tracked)
        : model_(make(std::move(handler), fallback, work)) {}

    template <class Function>
    explicit completion(called_in_place<Function> handler)
        : model_(std::make_shared<model_in_place<Function>>(std::move(handler.function))) {}

    completion(completion&&) noexcept = default;
    completion& operator=(completion&& other) noexcept {
        auto const dropped = std::exchange(model_, std::move(other.model_));
        if (dropped) dropped->drop();
        return *this;
    }
    ~completion() {
        if (model_) model_->drop();
    }

    [[nodiscard]] explicit operator bool() const noexcept { return model_ != nullptr; }

    /// Delivers the value; afterwards the completion is empty.
    void operator()(T value) {
        // A copy: the handler may end what the completion is part of.
        auto const target = std::exchange(model_, nullptr);
        target->deliver(std::move(value));
    }

    /// The handler's cancellation slot. The operation clears it before it delivers.
    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return model_->slot(); }

  private:
    struct base {
        base() = default;
        base(base const&) = delete;
        base& operator=(base const&) = delete;
        virtual ~base() = default;
        virtual void deliver(T value) = 0;
        virtual void drop() noexcept {}
        [[nodiscard]] virtual asio::cancellation_slot slot() const noexcept { return {}; }
    };

    /// An executor that the caller has.
    class own_executor final : public executor_lender {
      public:
        explicit own_executor(asio::any_io_executor const& e) : executor_(e) {}
        void with_executor(borrower const& use) const override { use(executor_); }

      private:
        asio::any_io_executor const& executor_;
    };

    /// Sets a promise wherever it is called; nothing of the caller's runs in it.
    template <class Handler>
    struct model_of_future final : base {
        using executor_type = asio::associated_executor_t<Handler, asio::any_io_executor>;

        explicit model_of_future(Handler h)
            : executor(asio::get_associated_executor(h, asio::any_io_executor())), handler(std::move(h)) {}

        void deliver(T value) override {
            auto call = [h = std::move(handler), value = std::move(value)]() mutable {
                std::move(h)(std::move(value));
            };
            asio::dispatch(executor, std::move(call));
        }

        executor_type executor;
        Handler handler;
    };

    template <class Function>
    struct model_in_place final : base {
        explicit model_in_place(Function f) : function(std::move(f)) {}
        void deliver(T value) override { function(std::move(value)); }
        Function function;
    };

    template <class Handler>
    struct model final : base, context_waiters::waiter {
        explicit model(Handler h) : slot_(asio::get_associated_cancellation_slot(h)), handler(std::move(h)) {}

        /// Takes an executor, whose context cannot go meanwhile, and belongs to that from now on. False: it is going.
        [[nodiscard]] bool join(asio::any_io_executor const& e, waiting_work work,
                                std::shared_ptr<waiter> const& self) {
            asio::any_io_executor mine = e;
            if (work == waiting_work::tracked) mine = asio::prefer(mine, asio::execution::outstanding_work.tracked);
            waiters = context_waiters::of(mine);
            executor = std::move(mine);
            bool const joined = waiters->try_add(self);
            if (!joined) executor = asio::any_io_executor();
            return joined;
        }

        void deliver(T v) override {
            waiters->resume(*this, executor, [&] { value.emplace(std::move(v)); });
        }

        void drop() noexcept override {
            try {
                waiters->resume(*this, executor, [] {});
            } catch (...) { waiters->remove(*this); }
        }

        void arrive() override {
            if (!value) return abandon(); // dropped
            auto h = std::move(*handler);
            auto v = std::move(*value);
            auto const work = std::move(executor); // ends after the handler ran
            abandon();
            std::move(h)(std::move(v));
        }

        void abandon() noexcept override {
            handler.reset();
            value.reset();
            executor = asio::any_io_executor();
        }

        [[nodiscard]] asio::cancellation_slot slot() const noexcept override { return slot_; }

        std::shared_ptr<context_waiters> waiters;
        asio::any_io_executor executor;
        asio::cancellation_slot const slot_;
        std::optional<Handler> handler;
        std::optional<T> value;
    };

    template <class Handler>
    static std::shared_ptr<base> make(Handler handler, executor_lender const& fallback, waiting_work work) {
        // use_future's executor cannot be erased.
        using associated = asio::associated_executor_t<Handler, asio::any_io_executor>;
        if constexpr (!std::is_convertible_v<associated, asio::any_io_executor>) {
            return std::make_shared<model_of_future<Handler>>(std::move(handler));
        } else {
            // The handler is asked and moved before the executor is lent, and abandoned afterwards: it is the
            // application's.
            asio::any_io_executor const own = asio::get_associated_executor(handler, asio::any_io_executor());
            auto const made = std::make_shared<model<Handler>>(std::move(handler));
            bool joined = false;
            auto const join = [&](asio::any_io_executor const& executor) { joined = made->join(executor, work, made); };
            if (own)
                join(own);
            else
                fallback.with_executor(std::ref(join)); // without an allocation
            if (!joined) made->abandon();
            return made;
        }
    }

    std::shared_ptr<base> model_;
};

} // namespace ipybox::detail
