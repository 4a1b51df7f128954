#pragma once

#include <ipybox/action/action_channel.hpp>
#include <ipybox/action/action_host.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>

#include <map>
#include <memory>
#include <string>

namespace ipybox::detail {

/**
 * \brief Takes what one kernel asks for, has it decided, has it done, and answers: docs/action-protocol.md.
 * \details Requests go on beside each other. What was approved is done exactly as it was shown.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class action_router : public std::enable_shared_from_this<action_router> {
  public:
    action_router(asio::any_io_executor executor, os::unique_fd socket, std::weak_ptr<action_host> host);

    /// Serves the kernel until it closes its end or `close` is called.
    void start();

    /// Cancels all that is under way. Programs end with the kernel.
    void close();

  private:
    /// A request that was not answered yet.
    struct pending {
        asio::cancellation_signal cancel;
        std::shared_ptr<running_program> program; ///< once it runs
    };

    static asio::awaitable<void> serve(std::shared_ptr<action_router> self);
    void on(tool_call wanted);
    void on(program_run wanted);
    void on(action_cancel const& wanted);
    void on(malformed_action const& malformed);

    template <class Work>
    void begin(action_id id, Work work);
    static asio::awaitable<action_frame> call(std::shared_ptr<action_router> self, tool_call wanted);
    static asio::awaitable<action_frame> run(std::shared_ptr<action_router> self, program_run wanted);
    static asio::awaitable<void> stop(std::shared_ptr<running_program> program);
    void answer(action_frame frame);

    asio::any_io_executor executor_;
    action_channel channel_;
    std::weak_ptr<action_host> host_;
    std::map<action_id, std::shared_ptr<pending>> pending_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/action/impl/action_router.ipp>
#endif
