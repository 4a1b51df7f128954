#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/config.hpp>

#include <asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace ipybox::detail {

/// Waits for the end of an operation, but no longer than a bound. The operation goes on by itself then.
asio::awaitable<void> end_within(asio::awaitable<void> operation, std::chrono::milliseconds bound);

/**
 * \brief Waits for an operation, but no longer than a bound: none when it passed first.
 * \details The operation is not cancelled then; it goes on by itself and its value is dropped. So it must own what it
 * uses.
 */
template <class T>
asio::awaitable<std::optional<T>> with_timeout(asio::awaitable<T> operation, std::chrono::milliseconds bound) {
    auto const value = place_for<T>();
    co_await end_within(fill_place(value, std::move(operation)), bound);
    co_return std::move(*value);
}

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/async/impl/with_timeout.ipp>
#endif
