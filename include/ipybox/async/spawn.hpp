#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/move_only_function.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ipybox::detail {

/// Hears of the end of a coroutine, with what it threw.
using on_coroutine_end = move_only_function<void(std::exception_ptr)>;

/**
 * \brief Starts a coroutine beside its caller, as `asio::co_spawn` does.
 * \details `co_spawn` makes ten kilobytes of code for each handler that it is given; this one is compiled once.
 * \param ended May be empty: then nothing hears of the end, nor of an exception.
 * \param slot  A cancellation of it reaches the coroutine.
 */
void spawn(asio::any_io_executor const& executor, asio::awaitable<void> work, on_coroutine_end ended = {},
           asio::cancellation_slot slot = {});

/// Where a coroutine leaves its value for others. Made without `make_shared`, which costs each type fifty functions.
template <class T>
std::shared_ptr<std::optional<T>> place_for() {
    return std::shared_ptr<std::optional<T>>(new std::optional<T>);
}

/// Gives a coroutine's value to the place.
template <class T>
asio::awaitable<void> fill_place(std::shared_ptr<std::optional<T>> place, asio::awaitable<T> work) {
    place->emplace(co_await std::move(work));
}

/// The same for a coroutine with a value: `ended(exception, value)`, the value being `T()` where there is an exception.
template <class T, class Ended>
    requires(!std::is_void_v<T>)
void spawn(asio::any_io_executor const& executor, asio::awaitable<T> work, Ended ended,
           asio::cancellation_slot slot = {}) {
    auto const value = place_for<T>();
    auto deliver = [value, ended = std::move(ended)](std::exception_ptr thrown) mutable {
        ended(thrown, thrown ? T() : std::move(**value));
    };
    spawn(executor, fill_place(value, std::move(work)), std::move(deliver), slot);
}

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/async/impl/spawn.ipp>
#endif
