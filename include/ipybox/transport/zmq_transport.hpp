#pragma once

#include <ipybox/jupyter/socket_protocol.hpp>
#include <ipybox/transport/transport.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ipybox {

namespace detail {
class zmq_kernel;
}

/**
 * \brief Any Jupyter kernel over ZeroMQ: one started from its kernelspec inside the sandbox, or a running one by its
 * connection file.
 * \details A kernel that is started gets Unix sockets in a private directory (or TCP ports on 127.0.0.1) and a random
 * key. A Python kernel then behaves as a forked one does: output comes within 10 ms, tracebacks are plain,
 * `kernel_host::launch::keep_cwd` holds. A running kernel is left as it is: `start` connects, `stop` disconnects, and
 * `kernel_host::launch` counts for its bound alone.
 *
 * Sockets are driven by the executor; libzmq has two threads of its own. Nothing is periodic, whether the kernel lives
 * or not.
 *
 * \par Errors of start
 * errc::kernelspec_not_found, invalid_argument — its name, its program; errc::ipykernel_missing;
 * errc::kernel_start_failed — it ended while starting (with its status and what it wrote), nothing listens, TCP through
 * a sandbox with a network of its own; errc::kernel_unresponsive — not within `kernel_host::launch::start_bound`;
 * errc::protocol_error — the connection file, or messages signed with another key; what the supervisor fails with
 *
 * \par Errors of send and receive
 * errc::kernel_died — after all messages that had arrived; carries the status of a kernel that was started here. Also a
 * kernel that gives no sign of life for two seconds after an interrupt, as stock kernels may that are hit at a bad
 * moment: so that code is only said to have ended, and `interrupt` only completes, when the kernel is there for more.
 * errc::not_running — after `stop`. Of `receive`, errc::protocol_error, message_too_large — one message is not usable;
 * later ones may be
 *
 * \par Memory
 * Messages that are not received stay in libzmq, without a bound: with one it would drop them. A kernel in a sandbox
 * with a memory limit cannot fill the host quickly, but it can: receive all the time, as the executor does, or use
 * `socketpair_transport`.
 *
 * \par Thread safety Distinct objects: safe. Shared objects: unsafe; all operations on one strand.
 */
class zmq_transport {
  public:
    /// The protocol of the kernel's sockets: `ipc`, Unix sockets, to which only the owner of their directory can
    /// connect, or `tcp`, ports, from which the key keeps others out.
    using socket_protocol = jupyter::detail::socket_protocol;

    /// The kernel that it talks to, and how.
    struct options {
        /// Name of the kernelspec: "python3", "bash", "ir", …
        std::string kernelspec = "python3";

        /// Connection file of a kernel that runs already. Then no kernel is started, and all other options are without
        /// effect.
        std::filesystem::path connection_file = {};

        /// The protocol of the sockets of a started kernel. TCP needs a sandbox that shares the network of the host.
        socket_protocol protocol = socket_protocol::ipc;

        /// Directories of kernelspecs (`DIR/NAME/kernel.json`) that are searched before those of Jupyter.
        std::vector<std::filesystem::path> kernelspec_dirs = {};
    };

    /// See transport_traits.
    static constexpr bool forks_kernels = false;
    /// See transport_traits.
    static constexpr bool orders_messages = false;

    /// Starts nothing: `start` does.
    explicit zmq_transport(options chosen);
    /// The kernel "python3", started.
    zmq_transport();
    /// The other one has no kernel afterwards.
    zmq_transport(zmq_transport&&) noexcept;
    /// Ends its own kernel as the destructor does.
    zmq_transport& operator=(zmq_transport&&) noexcept;

    /// A kernel that was started here is killed, without a wait.
    ~zmq_transport();

    ///@{
    /// One of the operations of the concept `transport`.
    [[nodiscard]] asio::awaitable<result<kernel_host::info>> start(std::shared_ptr<kernel_host> host,
                                                                   kernel_host::launch launch);
    [[nodiscard]] asio::awaitable<result<void>> send(jupyter::message m);
    [[nodiscard]] asio::awaitable<result<jupyter::message>> receive();
    [[nodiscard]] asio::awaitable<result<void>> interrupt();
    [[nodiscard]] asio::awaitable<result<void>> ask_to_end();
    [[nodiscard]] asio::awaitable<void> stop();
    ///@}

    /// The options that it was made with.
    [[nodiscard]] options const& get_options() const noexcept { return options_; }

  private:
    options options_;
    std::shared_ptr<detail::zmq_kernel> kernel_; // of the latest start; none before it and after stop
};

static_assert(transport<zmq_transport>);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/transport/impl/zmq_transport.ipp>
#endif
