#pragma once

#include <ipybox/async/executor_lender.hpp>
#include <ipybox/async/untyped_completion.hpp>
#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/dispatch.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ipybox::detail {

/// A handler that needs no context: called by the thread that completes, which it must not hold up.
template <class Function>
struct called_in_place {
    Function function;
};
template <class Function>
called_in_place(Function) -> called_in_place<Function>;

/// A handler for `void(T)`, for what erases its type.
template <class T, class Handler>
class handler_of final : public erased_handler {
  public:
    explicit handler_of(Handler h) : handler_(std::move(h)) {}
    void keep(void* value) override { value_.emplace(std::move(*static_cast<T*>(value))); }
    void call() override { std::move(handler_)(std::move(*value_)); }

  private:
    std::optional<T> value_;
    Handler handler_;
};

/**
 * \brief A completion handler for `void(T)` with its type erased, for bodies that are compiled once.
 * \details Asio 1.22 has no `any_completion_handler`. Called at most once; posts to the handler's associated executor,
 * which it keeps at work meanwhile. The handler belongs to the context of that executor, wherever the completion waits:
 * when the context is destroyed first, the handler is destroyed with it, uncalled, and completing does nothing any
 * more. A completion that is dropped uncalled has its handler destroyed where it would have run.
 * \par Thread safety May be called from any thread.
 */
template <class T>
class completion : public untyped_completion {
  public:
    completion() noexcept = default;

    /// `fallback` is for a handler without an executor of its own; the caller sees to it that its context stays
    /// meanwhile.
    template <class Handler>
    completion(Handler handler, asio::any_io_executor const& fallback, waiting_work work = waiting_work::tracked)
        : untyped_completion(make(std::move(handler), fallback, work)) {}

    /// The same for an executor whose context another thread may destroy.
    template <class Handler>
    completion(Handler handler, executor_lender const& fallback, waiting_work work = waiting_work::tracked)
        : untyped_completion(make(std::move(handler), fallback, work)) {}

    template <class Function>
    explicit completion(called_in_place<Function> handler) : untyped_completion(erased(std::move(handler.function))) {}

    /// Its handler has to take a `T`.
    explicit completion(untyped_completion same) noexcept : untyped_completion(std::move(same)) {}

    /// Delivers the value; afterwards the completion is empty.
    void operator()(T value) { deliver(&value); }

  private:
    template <class Handler>
    static std::unique_ptr<erased_handler> erased(Handler handler) {
        return std::unique_ptr<erased_handler>(new handler_of<T, Handler>(std::move(handler)));
    }

    template <class Handler, class Fallback>
    static untyped_completion make(Handler handler, Fallback const& fallback, waiting_work work) {
        using associated = asio::associated_executor_t<Handler, asio::any_io_executor>;
        if constexpr (!std::is_convertible_v<associated, asio::any_io_executor>) {
            return untyped_completion(erased(called_by_own_executor(std::move(handler))));
        } else {
            // The handler is asked and moved before an executor is lent: it is the application's.
            asio::any_io_executor const own = asio::get_associated_executor(handler, asio::any_io_executor());
            auto const slot = asio::get_associated_cancellation_slot(handler);
            return untyped_completion(erased(std::move(handler)), slot, own, fallback, work);
        }
    }

    /// use_future's executor cannot be erased. It sets a promise wherever it is called; nothing of the caller's runs in
    /// it.
    template <class Handler>
    static auto called_by_own_executor(Handler handler) {
        return [handler = std::move(handler)](T value) mutable {
            auto const executor = asio::get_associated_executor(handler, asio::any_io_executor());
            auto call = [handler = std::move(handler), value = std::move(value)]() mutable {
                std::move(handler)(std::move(value));
            };
            asio::dispatch(executor, std::move(call));
        };
    }
};

} // namespace ipybox::detail
