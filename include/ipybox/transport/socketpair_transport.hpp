#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>

#include <asio/awaitable.hpp>

#include <memory>

namespace ipybox {

class kernel_host;

namespace detail {
class supervised_process;
struct kernel_info;
struct kernel_launch;
} // namespace detail

namespace jupyter {
struct message;
} // namespace jupyter

/**
 * \brief The default transport: a kernel that the supervisor forks, reached over one stream socketpair.
 * \details Whole Jupyter messages in one total order over all channels; end of file is the kernel's death; nothing
 * listens and nothing has a name. The kernel is there in the time of a fork. Python only. See docs/kernel-protocol.md.
 */
class socketpair_transport {
  public:
    /// See transport_traits.
    static constexpr bool forks_kernels = true;
    /// See transport_traits.
    static constexpr bool orders_messages = true;

    socketpair_transport() = default;

    ///@{
    /// One of the operations of the concept `transport`.
    asio::awaitable<result<detail::kernel_info>> start(std::shared_ptr<kernel_host> host, detail::kernel_launch launch);
    asio::awaitable<result<void>> send(jupyter::message m);
    asio::awaitable<result<jupyter::message>> receive();
    asio::awaitable<result<void>> interrupt();
    asio::awaitable<result<void>> ask_to_end();
    asio::awaitable<void> stop();
    ///@}

    /// The kernel that runs, for whom programs can be run; none where there is none.
    [[nodiscard]] detail::supervised_process kernel() const;

  private:
    struct connection;
    struct start_attempt;
    std::shared_ptr<connection> connection_;
    std::shared_ptr<start_attempt> starting_; ///< the latest start
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/transport/impl/socketpair_transport.ipp>
#endif
