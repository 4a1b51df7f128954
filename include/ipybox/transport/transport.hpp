#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/kernel_options.hpp>
#include <ipybox/kernel/supervisor.hpp>

#include <asio/awaitable.hpp>

#include <concepts>
#include <memory>
#include <utility>

namespace ipybox {

class kernel_host;

/// When an execution is over: what a transport promises about the order of messages.
enum class completion_rule {
    reply,         ///< all channels share one order: the reply comes after all output
    reply_and_idle ///< channels are independent (ZeroMQ): over when the reply and the idle status were both seen
};

namespace detail {

template <class T>
concept has_transport_members = requires(T& t, std::shared_ptr<kernel_host> h, kernel_launch l, jupyter::message m) {
    { t.start(std::move(h), std::move(l)) } -> std::same_as<asio::awaitable<result<kernel_info>>>;
    { t.send(std::move(m)) } -> std::same_as<asio::awaitable<result<void>>>;
    { t.receive() } -> std::same_as<asio::awaitable<result<jupyter::message>>>;
    { t.interrupt() } -> std::same_as<asio::awaitable<result<void>>>;
    { t.stop() } -> std::same_as<asio::awaitable<void>>;
    { T::completes_with } -> std::convertible_to<completion_rule>;
    { T::duty } -> std::convertible_to<supervisor_options::role>;
};

} // namespace detail

/**
 * \brief How the executor uses a transport. Specialise it to make a transport of a type that is not yours.
 * \details The primary template forwards to the members. See docs/concepts/transport.md for what each operation must do.
 */
template <class T>
struct transport_traits {
    static asio::awaitable<result<kernel_info>> start(T& t, std::shared_ptr<kernel_host> h, kernel_launch l)
        requires detail::has_transport_members<T>
    {
        return t.start(std::move(h), std::move(l));
    }
    static asio::awaitable<result<void>> send(T& t, jupyter::message m)
        requires detail::has_transport_members<T>
    {
        return t.send(std::move(m));
    }
    static asio::awaitable<result<jupyter::message>> receive(T& t)
        requires detail::has_transport_members<T>
    {
        return t.receive();
    }
    static asio::awaitable<result<void>> interrupt(T& t)
        requires detail::has_transport_members<T>
    {
        return t.interrupt();
    }
    /// Optional: a transport without it has its kernels killed.
    static asio::awaitable<result<void>> ask_to_end(T& t)
        requires requires {
            { t.ask_to_end() } -> std::same_as<asio::awaitable<result<void>>>;
        }
    {
        return t.ask_to_end();
    }
    static asio::awaitable<void> stop(T& t)
        requires detail::has_transport_members<T>
    {
        return t.stop();
    }
    static constexpr completion_rule completes_with()
        requires detail::has_transport_members<T>
    {
        return T::completes_with;
    }
    static constexpr supervisor_options::role duty()
        requires detail::has_transport_members<T>
    {
        return T::duty;
    }
};

/**
 * \brief What kernel there is and how it is reached. The seam is the Jupyter message, not bytes.
 * \details All operations run on the executor's strand, one of each kind at a time; an `interrupt` does not wait for a `send`:
 * * `start(host, launch)` starts (or finds) a fresh kernel and completes when it answers; where it needs a supervisor, it asks with
 *   `co_await host->obtain()` (kernel/kernel_host.hpp). Called again after `stop`.
 * * `send(message)` completes when the message is on its way.
 * * `receive()` completes with the next message of the kernel. At the kernel's end it fails with errc::kernel_died, which carries how it ended; every
 *   further call fails at once.
 * * `interrupt()` makes the running cell raise KeyboardInterrupt. Messages sent afterwards cannot be hit by it.
 * * `ask_to_end()`, optional, asks a kernel that runs nothing to end by itself. `receive` then fails when it has, and `stop` is called in any case.
 * * `stop()` ends the kernel, within a bound, and makes a waiting `receive` fail. Needs no kernel to be running.
 */
template <class T>
concept transport =
    std::move_constructible<T> && requires(T& t, std::shared_ptr<kernel_host> h, kernel_launch l, jupyter::message m) {
        { transport_traits<T>::start(t, h, l) } -> std::same_as<asio::awaitable<result<kernel_info>>>;
        { transport_traits<T>::send(t, m) } -> std::same_as<asio::awaitable<result<void>>>;
        { transport_traits<T>::receive(t) } -> std::same_as<asio::awaitable<result<jupyter::message>>>;
        { transport_traits<T>::interrupt(t) } -> std::same_as<asio::awaitable<result<void>>>;
        { transport_traits<T>::stop(t) } -> std::same_as<asio::awaitable<void>>;
        { transport_traits<T>::completes_with() } -> std::convertible_to<completion_rule>;
        { transport_traits<T>::duty() } -> std::convertible_to<supervisor_options::role>;
    };

} // namespace ipybox
