#pragma once

#include <ipybox/action/action_host.hpp>
#include <ipybox/services/approval_service.hpp>
#include <ipybox/session/session_service.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace ipybox::detail {

class action_router;
class program_actions;
class session_services;
class tool_actions;

/**
 * \brief Lets the kernels of one session ask for actions, and does what was approved: itself what the supervisor can
 * run, the rest with those that provide it.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class action_service final : public session_service,
                             public action_host,
                             public std::enable_shared_from_this<action_service> {
  public:
    [[nodiscard]] static std::shared_ptr<action_service> make(session_services& session);

    action_service(asio::any_io_executor executor, std::shared_ptr<approval_service> approvals);
    ~action_service() override;

    [[nodiscard]] std::shared_ptr<approval_service> const& approvals() const noexcept { return approvals_; }

    /// From now on these tools can be called. Before, there are none.
    void attach(std::shared_ptr<tool_actions> tools) { tools_ = std::move(tools); }

    /// From now on these programs are run there, and not by the supervisor.
    void attach(std::shared_ptr<program_actions> programs) { programs_ = std::move(programs); }

    [[nodiscard]] bool offers(feature what) const noexcept override { return what == feature::approvals; }
    [[nodiscard]] result<void> prepare(kernel_launch& launch) override;
    void serve(running_kernel const& kernel) override;
    void close() override;
    void end_cell() override;

    [[nodiscard]] asio::awaitable<verdict> approve(approval_subject& subject, std::uint64_t after) override;
    [[nodiscard]] asio::awaitable<result<void>> find_server(std::string server) override;
    void ended(approval_subject const& subject, action_outcome const& how) override;
    [[nodiscard]] asio::awaitable<result<mcp::call_result>>
    call(approval_subject const& subject, mcp::raw_json arguments, mcp::call_options options) override;
    [[nodiscard]] asio::awaitable<result<mcp::raw_json>> ask(std::string const& server,
                                                             mcp::server_query query) override;
    [[nodiscard]] asio::awaitable<result<std::shared_ptr<running_program>>> run(program_run const& wanted,
                                                                                program_streams streams) override;
    [[nodiscard]] asio::awaitable<package_states> packages(package_request wanted) override;

  private:
    asio::any_io_executor const executor_;
    std::shared_ptr<approval_service> const approvals_;
    std::shared_ptr<tool_actions> tools_;
    std::shared_ptr<program_actions> programs_;
    os::unique_fd channel_; ///< our end, until the kernel runs
    std::shared_ptr<action_router> router_;
    supervised_process kernel_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/services/impl/action_service.ipp>
#endif
