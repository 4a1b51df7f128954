#pragma once

#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ipybox::detail {

/// Hears of the end of a coroutine, with what it threw.
using on_coroutine_end = std::function<void(std::exception_ptr)>;

/**
 * \brief Starts a coroutine beside its caller, as `asio::co_spawn` does.
 * \details `co_spawn` makes ten kilobytes of code for each handler that it is given; this one is compiled once.
 * \param ended May be empty: then nothing hears of the end, nor of an exception.
 * \param slot  A cancellation of it reaches the coroutine.
 */
void spawn(asio::any_io_executor const& executor, asio::awaitable<void> work, on_coroutine_end ended = {},
           asio::cancellation_slot slot = {});

/// The same for a coroutine with a value: `ended(exception, value)`, the value being `T()` where there is an exception.
template <class T, class Ended>
    requires(!std::is_void_v<T>)
void spawn(asio::any_io_executor const& executor, asio::awaitable<T> work, Ended ended,
           asio::cancellation_slot slot = {}) {
    auto const kept = std::make_shared<std::optional<T>>();
    auto const keep = [](asio::awaitable<T> giving, std::shared_ptr<std::optional<T>> value) -> asio::awaitable<void> {
        value->emplace(co_await std::move(giving));
    };
    auto const deliver = [kept, ended = std::move(ended)](std::exception_ptr thrown) {
        ended(thrown, thrown ? T() : std::move(**kept));
    };
    spawn(executor, keep(std::move(work), kept), deliver, slot);
}

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/async/impl/spawn.ipp>
#endif
