#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_action.hpp>
#include <ipybox/mcp/server_open_request.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::mcp {

/// The actions that a server takes next, in order, and the answers that wait for the rest of their batch.
class server_outbox {
  public:
    /// \param longest bytes of a line; the answers of a batch that are longer become several lines
    explicit server_outbox(std::size_t longest) : longest_(longest) {}

    void add(server_action what) { actions_.push_back(std::move(what)); }
    [[nodiscard]] std::vector<server_action> take() { return std::exchange(actions_, {}); }

    /// Sends a message, within a batch where there is one.
    void put(std::shared_ptr<server_batch> const& batch, std::string message);

    /// Takes account of a request whose answer will come by `answer`, or by `drop`.
    void open(server_open_request const& request);
    void answer(server_open_request const& request, answer_to<std::string> const& answer);
    void drop(server_open_request const& request);

    /// All messages of a batch were read.
    void complete(server_batch& batch);

  private:
    void finish(server_batch& batch);

    std::size_t longest_;
    std::vector<server_action> actions_;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_outbox.ipp>
#endif
