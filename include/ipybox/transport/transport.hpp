#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/kernel_host.hpp>

#include <asio/awaitable.hpp>

#include <concepts>
#include <memory>
#include <utility>

namespace ipybox {

namespace detail {

template <class T>
concept has_kernel_member = requires(T const& t) {
    { t.kernel() } -> std::same_as<kernel_host::process>;
};

/// The constants of a transport, as its type has them. One without the first two is none.
template <class T>
struct transport_constants {};

template <class T>
    requires requires {
        { T::forks_kernels } -> std::convertible_to<bool>;
        { T::orders_messages } -> std::convertible_to<bool>;
    }
struct transport_constants<T> {
    /// Its kernels are forked by the supervisor, which imports IPython for them. Otherwise the supervisor only starts
    /// programs.
    static constexpr bool forks_kernels = T::forks_kernels;

    /// All channels share one order: the reply to a cell comes after all its output. Otherwise a cell has ended with
    /// its reply and its idle status.
    static constexpr bool orders_messages = T::orders_messages;

    /// Its kernels call tools and ask for shell commands: it hands `kernel_host::launch::action_socket` on, and has
    /// `kernel`. A type without the constant does if it has `kernel()`.
    static constexpr bool carries_actions = [] {
        if constexpr (requires { T::carries_actions; })
            return bool(T::carries_actions);
        else
            return has_kernel_member<T>;
    }();

    /// It hands `kernel_host::launch::guard` on: `executor_options::approval.require_shell_escape`. A type without the
    /// constant does if it carries actions.
    static constexpr bool can_be_guarded = [] {
        if constexpr (requires { T::can_be_guarded; })
            return bool(T::can_be_guarded);
        else
            return carries_actions;
    }();
};

} // namespace detail

/**
 * \brief How the executor uses a transport. Specialise it to make a transport of a type that is not yours.
 * \details The primary template calls the members of the same names, as far as there are any. See
 * docs/concepts/transport.md for what each operation must do.
 */
template <class T>
struct transport_traits : detail::transport_constants<T> {
    /// Brings a kernel to life and waits until it answers.
    static auto start(auto& t, std::shared_ptr<kernel_host> h, kernel_host::launch l)
        -> decltype(t.start(std::move(h), std::move(l))) {
        return t.start(std::move(h), std::move(l));
    }
    /// Sends a message to the kernel.
    static auto send(auto& t, jupyter::message m) -> decltype(t.send(std::move(m))) { return t.send(std::move(m)); }
    /// Waits for the next message of the kernel.
    static auto receive(auto& t) -> decltype(t.receive()) { return t.receive(); }
    /// Raises KeyboardInterrupt in the running code.
    static auto interrupt(auto& t) -> decltype(t.interrupt()) { return t.interrupt(); }
    /// Optional: a transport without it has its kernels killed.
    static auto ask_to_end(auto& t) -> decltype(t.ask_to_end()) { return t.ask_to_end(); }
    /// Ends the kernel at once.
    static auto stop(auto& t) -> decltype(t.stop()) { return t.stop(); }
    /// The forked kernel that runs; an empty handle where none does.
    static auto kernel(auto const& t) -> decltype(t.kernel()) { return t.kernel(); }
};

namespace detail {

/// Actions need a forked kernel, for whom programs are run; a guarded kernel that cannot ask could do nothing.
template <class T>
concept has_consistent_constants =
    (!transport_traits<T>::carries_actions || (transport_traits<T>::forks_kernels && requires(T const& t) {
        { transport_traits<T>::kernel(t) } -> std::same_as<kernel_host::process>;
    })) && (!transport_traits<T>::can_be_guarded || transport_traits<T>::carries_actions);

} // namespace detail

/**
 * \brief The kernel, and the way to it. The seam is the Jupyter message, not bytes.
 * \details Four constants say what its kernels can do (`transport_traits`). All operations run on the executor's
 * strand, one of each kind at a time; an `interrupt` does not wait for a `send`:
 * * `start(host, launch)` starts (or finds) a fresh kernel and completes when it answers; where it needs a supervisor,
 * it asks with `co_await host->obtain()` (kernel/kernel_host.hpp). Called again after `stop`.
 * * `send(message)` completes when the message is on its way.
 * * `receive()` completes with the next message of the kernel. At the kernel's end it fails with errc::kernel_died,
 * which carries how it ended; every further call fails at once.
 * * `interrupt()` makes the running cell raise KeyboardInterrupt. Messages sent afterwards cannot be hit by it.
 * * `ask_to_end()`, optional, asks a kernel that runs nothing to end by itself. `receive` then fails when it has, and
 * `stop` is called in any case.
 * * `kernel()`, of transports that carry actions: the forked kernel, for whom the supervisor runs programs.
 * * `stop()` ends the kernel, within a bound, and makes a waiting `receive` fail. Needs no kernel to be running.
 */
template <class T>
concept transport = std::move_constructible<T> &&
                    requires(T& t, std::shared_ptr<kernel_host> h, kernel_host::launch l, jupyter::message m) {
                        {
                            transport_traits<T>::start(t, h, l)
                        } -> std::same_as<asio::awaitable<result<kernel_host::info>>>;
                        { transport_traits<T>::send(t, m) } -> std::same_as<asio::awaitable<result<void>>>;
                        { transport_traits<T>::receive(t) } -> std::same_as<asio::awaitable<result<jupyter::message>>>;
                        { transport_traits<T>::interrupt(t) } -> std::same_as<asio::awaitable<result<void>>>;
                        { transport_traits<T>::stop(t) } -> std::same_as<asio::awaitable<void>>;
                        { transport_traits<T>::forks_kernels } -> std::convertible_to<bool>;
                        { transport_traits<T>::orders_messages } -> std::convertible_to<bool>;
                        { transport_traits<T>::carries_actions } -> std::convertible_to<bool>;
                        { transport_traits<T>::can_be_guarded } -> std::convertible_to<bool>;
                    } && detail::has_consistent_constants<T>;

} // namespace ipybox
