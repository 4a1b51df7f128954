#pragma once

#include <ipybox/http/authorizer.hpp>
#include <ipybox/http/client.hpp>
#include <ipybox/http/impl/sent_message.hpp>
#include <ipybox/http/tool_headers.hpp>
#include <ipybox/http/url.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/version.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::http::detail {

/**
 * \brief Where a server is reached, and the requests to it: with the header fields of the application, of the tokens
 * and of the session.
 * \details Used on the executor of its channel, but for `kill`.
 */
class remote_endpoint {
  public:
    remote_endpoint(mcp::server_params server, url address, std::shared_ptr<authorizer> tokens)
        : server_(std::move(server)), address_(std::move(address)), messages_(address_), tokens_(std::move(tokens)),
          client_(client::shared()) {}

    /// Posts a message.
    [[nodiscard]] std::shared_ptr<response> post(sent_message const& one) {
        auto wanted = make("POST", messages_);
        wanted.headers.set("Content-Type", "application/json");
        wanted.headers.set("Accept", "application/json, text/event-stream");
        add_fields_of(one.about, wanted.headers);
        wanted.body = one.text;
        // Others wait for the first two of a session, and no one has a bound for what has no answer.
        if (one.begins_session() || !one.about.id) wanted.timeout = server_.connect_timeout;
        return begin(std::move(wanted));
    }

    /// Asks for events, behind the one of that id.
    [[nodiscard]] std::shared_ptr<response> listen(std::string const& last_id) {
        auto wanted = make("GET", messages_);
        wanted.headers.set("Accept", "text/event-stream");
        add_session(wanted.headers);
        if (!last_id.empty()) wanted.headers.set("Last-Event-ID", last_id);
        return begin(std::move(wanted));
    }

    /// Tells the server that the session is over.
    [[nodiscard]] std::shared_ptr<response> end_session(std::chrono::milliseconds bound) {
        auto wanted = make("DELETE", messages_);
        add_session(wanted.headers);
        wanted.timeout = bound;
        return begin(std::move(wanted));
    }

    /// Ends all answers, and those to later requests at once. From any thread.
    void kill() noexcept {
        std::vector<std::weak_ptr<response>> open;
        {
            std::scoped_lock const lock(mutex_);
            killed_ = true;
            open.swap(answers_);
        }
        for (auto const& each : open)
            if (auto const answer = each.lock()) answer->end();
    }

    /// Messages go there from now on; false where that is another server.
    [[nodiscard]] bool move_to(std::string_view reference) {
        auto to = messages_.resolve(reference);
        if (!to || to->origin() != address_.origin()) return false;
        messages_ = *std::move(to);
        return true;
    }

    [[nodiscard]] std::shared_ptr<authorizer> const& tokens() const noexcept { return tokens_; }
    [[nodiscard]] std::string credentials() const { return tokens_ ? tokens_->credentials() : std::string(); }

    std::string session;   ///< its id; empty: there is none, or it has no id
    std::string version;   ///< of the session; empty: there is none
    tool_headers mirrored; ///< arguments in header fields

  private:
    [[nodiscard]] request make(std::string method, url const& to) const {
        request wanted;
        wanted.method = std::move(method);
        wanted.url = to.text();
        wanted.connect_timeout = server_.connect_timeout;
        wanted.authorities = server_.authorities;
        wanted.headers.set("User-Agent", "ipybox/" IPYBOX_VERSION_STRING);
        for (auto const& [name, value] : server_.headers) wanted.headers.set(name, value);
        if (auto const current = credentials(); !current.empty()) wanted.headers.set("Authorization", current);
        return wanted;
    }

    /// MCP 2026-07-28, "Streamable HTTP", section "Request Headers".
    void add_fields_of(request_outline const& about, fields& headers) const {
        if (about.version.empty()) {
            if (about.method != "initialize") add_session(headers);
            return;
        }
        headers.set("MCP-Protocol-Version", about.version);
        headers.set("Mcp-Method", about.method);
        if (!about.name.empty()) headers.set("Mcp-Name", field_value(about.name));
        if (about.method != "tools/call") return;
        auto const arguments = mirrored.of(about.name, about.arguments);
        for (auto const& [name, value] : arguments.all()) headers.set(name, value);
    }

    /// MCP 2025-11-25, "Session Management" and "Protocol Version Header".
    void add_session(fields& headers) const {
        if (!session.empty()) headers.set("Mcp-Session-Id", session);
        if (!version.empty()) headers.set("MCP-Protocol-Version", version);
    }

    [[nodiscard]] std::shared_ptr<response> begin(request wanted) {
        auto answer = client_->begin(std::move(wanted));
        std::unique_lock lock(mutex_);
        std::erase_if(answers_, [](auto const& each) { return each.expired(); });
        answers_.push_back(answer);
        bool const is_killed = killed_;
        lock.unlock();
        if (is_killed) answer->end();
        return answer;
    }

    mcp::server_params const server_;
    url const address_;
    url messages_; ///< where they are posted
    std::shared_ptr<authorizer> const tokens_;
    std::shared_ptr<client> const client_;

    std::mutex mutex_; ///< of the rest: `kill` comes from any thread
    std::vector<std::weak_ptr<response>> answers_;
    bool killed_ = false;
};

} // namespace ipybox::http::detail
