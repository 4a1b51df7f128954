#pragma once

#include <ipybox/transport/transport.hpp>

#include <memory>

namespace ipybox {

/**
 * \brief The default transport: a kernel that the supervisor forks, reached over one stream socketpair.
 * \details Whole Jupyter messages in one total order over all channels; end of file is the kernel's death; nothing listens and nothing has a name. The kernel is
 * there in the time of a fork. Python only. See docs/kernel-protocol.md.
 */
class socketpair_transport {
  public:
    static constexpr completion_rule completes_with = completion_rule::reply;
    static constexpr supervisor_options::role duty = supervisor_options::role::forks_kernels;

    socketpair_transport() = default;

    asio::awaitable<result<kernel_info>> start(std::shared_ptr<kernel_host> host, kernel_launch launch);
    asio::awaitable<result<void>> send(jupyter::message m);
    asio::awaitable<result<jupyter::message>> receive();
    asio::awaitable<result<void>> interrupt();
    asio::awaitable<result<void>> ask_to_end();
    asio::awaitable<void> stop();

    /// The kernel that runs, for whom programs can be run; none where there is none.
    [[nodiscard]] supervised_process kernel() const;

  private:
    struct connection;
    std::shared_ptr<connection> connection_;
    std::stop_source starting_; ///< ends the latest start
};

static_assert(transport<socketpair_transport>);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/transport/impl/socketpair_transport.ipp>
#endif
