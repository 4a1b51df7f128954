#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/impl/connection.hpp>
#include <ipybox/mcp/session.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::mcp::detail {

/// How long the answer to a cancellation is remembered to be on its way.
inline constexpr std::chrono::seconds answer_to_cancel{10};

/// The error of every request to a server whose I/O context has been destroyed.
[[nodiscard]] inline error context_destroyed() {
    return error(errc::not_running, "has gone: its I/O context was destroyed");
}

/// "the MCP server 'NAME' " and what an error says about it.
[[nodiscard]] inline error error_of(std::string const& server, error const& what) {
    auto const code = static_cast<errc>(what.code().value());
    return error(code, "the MCP server '" + server + "' " + what.text()).with_status(what.status());
}

/// One request of the application, which may take several of the protocol.
class exchange {
  public:
    using clock = rpc_machine::clock;

    exchange(std::string const& server, call_options o)
        : server_name(server), options(std::move(o)),
          deadline(options.timeout ? clock::now() + clamped(*options.timeout) : clock::time_point::max()) {}
    exchange(exchange const&) = delete;
    exchange& operator=(exchange const&) = delete;
    virtual ~exchange() = default;

    [[nodiscard]] virtual std::string_view method() const = 0;
    [[nodiscard]] virtual std::vector<rpc_member> params() const = 0;

    /// The agreement with the server that the request is sent to.
    virtual void speak(session const& with) = 0;

    /// The time to wait before the request is sent.
    [[nodiscard]] virtual std::chrono::milliseconds pause() const = 0;

    /// JSON of the id of a task that the server runs for this, and that has not ended; empty: there is none.
    [[nodiscard]] virtual std::string task() const = 0;

    /// Reads a long result, on another thread.
    [[nodiscard]] virtual result_reader reader() const = 0;

    /// Takes a result; false when there has to be another request.
    virtual bool take(std::string_view result) = 0;

    /// The same of one that the reader has read.
    virtual bool take_read(std::shared_ptr<void> const& read) = 0;

    /// The server refused the request, with this code of JSON-RPC.
    virtual void refuse(error why, std::int64_t code) = 0;

    /// Completes with an error, if it has not completed yet.
    virtual void fail(error why) = 0;

    /// Whether it has completed.
    [[nodiscard]] virtual bool is_over() const noexcept = 0;

    /// The cancellation slot of who waits for it.
    [[nodiscard]] virtual asio::cancellation_slot slot() const noexcept = 0;

    std::string const server_name;
    call_options const options;
    clock::time_point const deadline;
    std::optional<connection::request_id> sent = {};   ///< the request that is under way
    bool has_listed_anew = false;                      ///< the list of tools was read for it, and it was sent once more
    std::unique_ptr<asio::steady_timer> patience = {}; ///< watches the deadline until there is a server to send it to,
                                                       ///< or the time until it is sent
};

template <class Machine>
class exchange_of final : public exchange {
  public:
    using value = result<typename Machine::value_type>;

    exchange_of(std::string const& server, call_options o, Machine machine, ipybox::detail::completion<value> done)
        : exchange(server, std::move(o)), machine_(std::move(machine)), done_(std::move(done)) {}

    /// One that is dropped, with the I/O context that it waited in, has an outcome all the same.
    ~exchange_of() override {
        try {
            fail(context_destroyed());
        } catch (...) {} // NOLINT(bugprone-empty-catch): the completion is dropped then
    }

    [[nodiscard]] bool is_over() const noexcept override { return !done_; }
    [[nodiscard]] asio::cancellation_slot slot() const noexcept override { return done_.slot(); }

    [[nodiscard]] std::string_view method() const override {
        if constexpr (has_tasks)
            return machine_.next_method();
        else
            return Machine::method;
    }
    [[nodiscard]] std::vector<rpc_member> params() const override { return machine_.params(); }

    void speak(session const& with) override {
        spoken_ = with.era;
        if constexpr (has_tasks) machine_.speak(with);
    }

    [[nodiscard]] std::chrono::milliseconds pause() const override {
        if constexpr (has_tasks)
            return machine_.pause();
        else
            return std::chrono::milliseconds(0);
    }

    [[nodiscard]] std::string task() const override {
        if constexpr (has_tasks)
            return machine_.task();
        else
            return {};
    }

    [[nodiscard]] result_reader reader() const override {
        return [read = reading_of()](std::string_view result) { return std::make_shared<reading>(read(result)); };
    }

    bool take(std::string_view result) override { return take_reading(reading_of()(result)); }

    bool take_read(std::shared_ptr<void> const& read) override {
        return take_reading(std::move(*std::static_pointer_cast<reading>(read)));
    }

    void refuse(error why, std::int64_t code) override {
        if constexpr (requires { machine_.on_refusal(why, code); }) {
            auto outcome = machine_.on_refusal(std::move(why), code);
            outcome ? complete(std::move(outcome)) : fail(outcome.error());
        } else {
            fail(std::move(why));
        }
    }

    void fail(error why) override {
        if (done_) done_(value(failure(error_of(server_name, why))));
    }

  private:
    using reading = typename Machine::reading;

    /// Whether a server may run it as a task.
    static constexpr bool has_tasks = requires(Machine m) { m.task(); };

    /// A function that reads the result of the request that is under way. It needs no part of this object.
    [[nodiscard]] auto reading_of() const {
        if constexpr (has_tasks)
            return [spoken = spoken_, asked = machine_.next()](std::string_view result) {
                return Machine::read(result, spoken, asked);
            };
        else
            return [](std::string_view result) { return Machine::read(result); };
    }

    void complete(value outcome) {
        if (done_) done_(std::move(outcome));
    }

    bool take_reading(reading read) {
        auto outcome = machine_.on_reading(std::move(read));
        if (!outcome) return false;
        if (!*outcome)
            fail(outcome->error());
        else
            complete(std::move(*outcome));
        return true;
    }

    Machine machine_;
    era spoken_ = era::handshake;
    ipybox::detail::completion<value> done_;
};

} // namespace ipybox::mcp::detail
