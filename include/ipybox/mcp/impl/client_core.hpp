#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/mcp/client.hpp>
#include <ipybox/mcp/handshake_machine.hpp>
#include <ipybox/mcp/impl/connection.hpp>
#include <ipybox/mcp/listed_tools.hpp>
#include <ipybox/mcp/value_names.hpp>

#include <asio/cancellation_type.hpp>
#include <asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::mcp::detail {

/// The error of every request to a server whose I/O context has been destroyed.
[[nodiscard]] inline error context_destroyed() {
    return error(errc::not_running, "has gone: its I/O context was destroyed");
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

    std::string const server_name;
    call_options const options;
    clock::time_point const deadline;
    std::optional<connection::request_id> sent = {};   ///< the request that is under way
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

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return done_.slot(); }

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

    void fail(error why) override;

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

/// "the MCP server 'NAME' " and what an error says about it.
[[nodiscard]] error error_of(std::string const& server, error const& what);

template <class Machine>
void exchange_of<Machine>::fail(error why) {
    if (done_) done_(value(failure(error_of(server_name, why))));
}

/**
 * \brief A client's body, which outlives it while something is under way. It may outlive its I/O context too: then it
 * only refuses.
 * \details Public members may be called from any thread. Its state belongs to its executor, where one coroutine,
 * `serve`, goes through the lives of the server.
 */
class client_core : public std::enable_shared_from_this<client_core> {
  public:
    [[nodiscard]] static std::shared_ptr<client_core> make(asio::any_io_executor executor, std::string name,
                                                           server_params params, client_environment surroundings);

    client_core(asio::any_io_executor executor, std::string name, server_params params,
                client_environment surroundings);

    // `current` is the executor that the caller runs on.

    template <class Machine>
    void run(asio::any_io_executor const& current, Machine machine, call_options options,
             ipybox::detail::completion<result<typename Machine::value_type>> done) {
        if (!options.timeout) options.timeout = params_.call_timeout;
        auto e = std::make_shared<exchange_of<Machine>>(name_, std::move(options), std::move(machine), std::move(done));
        // Never cleared: a signal that comes too late finds nothing. Clearing it from here would race with the signal's
        // own thread.
        if (auto slot = e->slot(); slot.is_connected())
            slot.assign([weak = weak_from_this(), which = std::weak_ptr<exchange>(e)](asio::cancellation_type) {
                auto const self = weak.lock();
                auto const unwanted = which.lock();
                if (self && unwanted) self->executor_.post([self, unwanted] { self->cancel(unwanted); });
            });
        // If the context has gone, the exchange is dropped here and fails.
        auto const begin = [self = shared_from_this(), e = std::move(e)] { self->submit(e); };
        executor_.dispatch(current, begin);
    }

    void stop(asio::any_io_executor const& current, ipybox::detail::completion<bool> done);
    void retire();
    [[nodiscard]] bool retired() const noexcept { return retired_; }
    void describe(ipybox::detail::completion<std::optional<session>> done);

    /// Ends the server at once, for ever.
    void kill();

    [[nodiscard]] std::string const& name() const noexcept { return name_; }
    [[nodiscard]] server_params const& params() const noexcept { return params_; }
    [[nodiscard]] std::shared_ptr<listed_tools> const& listed() const noexcept { return listed_; }

  private:
    /// The outcome of a question of the handshake.
    using answer = std::variant<std::string, rpc_error, error>;

    void submit(std::shared_ptr<exchange> e);
    void accept(std::shared_ptr<exchange> const& e);
    void ensure_served();
    void ask(std::shared_ptr<exchange> const& e);
    void begin_request(std::shared_ptr<exchange> const& e);
    void send_request(std::shared_ptr<exchange> const& e);
    void cancel_task(exchange const& e);
    void conclude(std::shared_ptr<exchange> const& e, rpc_outcome outcome);
    void on_outcome(std::shared_ptr<exchange> const& e, rpc_outcome outcome);
    void cancel(std::shared_ptr<exchange> const& e);
    void end_waiting(error const& why);
    void end_all();
    void context_ends() noexcept;

    static asio::awaitable<void> serve(std::shared_ptr<client_core> self);
    asio::awaitable<void> live();
    asio::awaitable<result<session>> connect();
    [[nodiscard]] result<std::shared_ptr<channel>> channel_to(server_params const& params) const;
    asio::awaitable<result<void>> open_connection(server_params const& params);
    asio::awaitable<void> close_connection();
    asio::awaitable<answer> answer_to(handshake_machine::ask question, exchange::clock::time_point deadline);
    [[nodiscard]] handshake_machine::step next_step(handshake_machine& machine, answer a, bool was_probe) const;
    void begin_session(session s);

    ipybox::detail::context_bound_executor executor_;
    std::string const name_;
    server_params const params_;
    client_environment const surroundings_;
    std::shared_ptr<listed_tools> const listed_ = std::make_shared<listed_tools>();
    value_names names_;                                 ///< of its last start
    std::optional<server_params::negotiation> learned_; ///< what its last life taught about its era

    std::vector<std::shared_ptr<exchange>> waiting_; ///< for a server
    std::shared_ptr<connection> connection_;
    std::optional<session> session_; ///< none: not ready
    bool serving_ = false;
    bool stopping_ = false;
    std::atomic<bool> retired_ = false; ///< there will be no further life
    std::vector<ipybox::detail::completion<bool>> stop_waiters_;

    std::mutex channel_mutex_; ///< `kill` comes from any thread
    std::shared_ptr<channel> channel_;
    bool killed_ = false;
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/client_core.ipp>
#endif
