#pragma once

#include <ipybox/approval/approval_request.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace ipybox {

/**
 * \brief Puts approval requests to the user of the client that makes a call, one after the other.
 * \details Requests that are decided elsewhere meanwhile, as by the end of their cell, are passed over.
 * \par Thread safety Unsafe: used on the executor of the call.
 */
class call_questions : public std::enable_shared_from_this<call_questions> {
  public:
    /**
     * \param changed called whenever a question has been opened or closed
     * \param session whose code asks, for the question; empty: the only one of the client
     */
    [[nodiscard]] static std::shared_ptr<call_questions> make(asio::any_io_executor executor,
                                                              std::shared_ptr<mcp::server::call> call,
                                                              std::function<void()> changed = {},
                                                              std::string session = {});

    call_questions(asio::any_io_executor executor, std::shared_ptr<mcp::server::call> call,
                   std::function<void()> changed, std::string session);

    void put(approval_request request);

    /// Whether the user is being asked.
    [[nodiscard]] bool open() const noexcept { return asking_ != nullptr; }

    /// Takes back the open question, and all others. \return the requests that have no decision
    [[nodiscard]] std::deque<approval_request> withdraw();

  private:
    struct question;

    void ask_next();
    static asio::awaitable<void> ask(std::shared_ptr<call_questions> self, std::shared_ptr<question> asked);

    asio::any_io_executor executor_;
    std::shared_ptr<mcp::server::call> call_;
    std::function<void()> changed_;
    std::string session_;
    std::deque<approval_request> waiting_;
    std::shared_ptr<question> asking_; ///< the open one
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/call_questions.ipp>
#endif
