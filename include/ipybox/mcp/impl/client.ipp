#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/async/wait_handler.hpp>
#include <ipybox/mcp/client.hpp>
#include <ipybox/mcp/content_request_machine.hpp>
#include <ipybox/mcp/impl/connector.hpp>
#include <ipybox/mcp/impl/exchange.hpp>
#include <ipybox/mcp/impl/guarded.hpp>
#include <ipybox/mcp/item_list_machine.hpp>
#include <ipybox/mcp/tool_call_machine.hpp>
#include <ipybox/mcp/tool_list_machine.hpp>

#include <asio/cancellation_type.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::mcp::detail {

IPYBOX_DECL std::shared_ptr<client> client::make(asio::any_io_executor executor, std::string name, server_params params,
                                                 client_environment surroundings) {
    std::shared_ptr<client> made(
        new client(std::move(executor), std::move(name), std::move(params), std::move(surroundings)));
    made->executor_.on_end([weak = std::weak_ptr(made)] {
        if (auto const self = weak.lock()) self->context_ends();
    });
    return made;
}

IPYBOX_DECL client::client(asio::any_io_executor executor, std::string name, server_params params,
                           client_environment surroundings)
    : executor_(std::move(executor)), name_(std::move(name)), params_(std::move(params)),
      surroundings_(std::move(surroundings)), connector_(new connector(executor_, params_, surroundings_)) {}

IPYBOX_DECL client::~client() = default;

// --- what is asked ----------------------------------------------------------------------------------------------------

template <class Machine>
asio::awaitable<result<typename Machine::value_type>> client::run(client_ptr self, result<Machine> machine,
                                                                  call_options options) {
    using outcome = result<typename Machine::value_type>;
    if (!machine) co_return failure(machine);
    auto const current = co_await asio::this_coro::executor;
    auto const begin = [&](ipybox::detail::completion<outcome> done) {
        auto const asked = std::exchange(self, nullptr);
        if (!options.timeout) options.timeout = asked->params_.call_timeout;
        asked->begin(current, std::make_shared<exchange_of<Machine>>(asked->name_, std::move(options),
                                                                     std::move(*machine), std::move(done)));
    };
    co_return co_await ipybox::detail::await_completion<outcome>(begin);
}

template <class Machine>
asio::awaitable<result<typename Machine::value_type>> client::read_list(client_ptr self, call_options options) {
    if (!options.timeout) options.timeout = self->params_.list_timeout;
    return run(std::move(self), result<Machine>(), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<std::vector<tool>>> client::read_tools(client_ptr self, call_options options) {
    auto const listed = self->listed_;
    auto reading = read_list<tool_list_machine>(std::exchange(self, nullptr), std::move(options));
    auto tools = co_await std::move(reading);
    if (tools) listed->replace(*tools);
    co_return tools;
}

/// As its server runs it.
template <class Arguments>
asio::awaitable<result<call_result>> client::call_tool(client_ptr self, std::string const& tool, Arguments&& arguments,
                                                       call_options options) {
    auto machine = tool_call_machine::make(tool, std::forward<Arguments>(arguments));
    if (machine && self->listed_->needs_task(tool)) machine->need_task();
    return run(std::move(self), std::move(machine), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<call_result>> client::call_once_listed(client_ptr self, std::string tool,
                                                                          raw_json arguments, call_options options) {
    auto const listed = self->listed_;
    if (!listed->contains(tool)) {
        std::weak_ptr const weak = self;
        auto const began = exchange::clock::now();
        call_options how; // one budget for both
        if (options.timeout) how.timeout = std::min(*options.timeout, self->params_.list_timeout);
        auto reading = read_tools(std::exchange(self, nullptr), std::move(how));
        auto tools = co_await std::move(reading);
        if (!tools) co_return failure(tools);
        auto const took = std::chrono::duration_cast<std::chrono::milliseconds>(exchange::clock::now() - began);
        if (options.timeout) *options.timeout -= took;
        self = weak.lock();
        if (!self) co_return failure(errc::not_running, "the MCP server is no longer registered");
        if (!listed->contains(tool))
            co_return failure(error_of(self->name_, error(errc::mcp_refused, "lists no tool \"" + tool + '"')));
    }
    auto called = call_tool(std::exchange(self, nullptr), tool, std::move(arguments), std::move(options));
    co_return co_await std::move(called);
}

IPYBOX_DECL asio::awaitable<result<std::vector<tool>>> client::list_tools(call_options options) {
    return read_tools(shared_from_this(), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<call_result>>
client::call(std::string const& tool, nlohmann::ordered_json const& arguments, call_options options) {
    return call_tool(shared_from_this(), tool, arguments, std::move(options));
}

IPYBOX_DECL asio::awaitable<result<call_result>> client::call(std::string const& tool, raw_json arguments,
                                                              call_options options) {
    return call_tool(shared_from_this(), tool, std::move(arguments), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<call_result>>
client::call_sorted(std::string const& tool, nlohmann::json const& arguments, call_options options) {
    return call_tool(shared_from_this(), tool, arguments, std::move(options));
}

IPYBOX_DECL asio::awaitable<result<call_result>> client::call_listed(std::string tool, raw_json arguments,
                                                                     call_options options) {
    return call_once_listed(shared_from_this(), std::move(tool), std::move(arguments), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<raw_json>> client::ask(server_query query, call_options options) {
    using resource_machine = content_request_machine<resource_request>;
    using prompt_machine = content_request_machine<prompt_request>;
    auto self = shared_from_this();
    switch (query.what) {
    case server_query::method::list_resources:
        return read_list<item_list_machine<resource_list>>(std::move(self), std::move(options));
    case server_query::method::list_resource_templates:
        return read_list<item_list_machine<resource_template_list>>(std::move(self), std::move(options));
    case server_query::method::list_prompts:
        return read_list<item_list_machine<prompt_list>>(std::move(self), std::move(options));
    case server_query::method::read_resource:
        return run(std::move(self), result<resource_machine>(resource_machine(query.name)), std::move(options));
    case server_query::method::get_prompt: break;
    }
    auto arguments = query.arguments ? std::move(*query.arguments).take() : std::string();
    return run(std::move(self), result<prompt_machine>(prompt_machine(query.name, std::move(arguments))),
               std::move(options));
}

// --- requests ---------------------------------------------------------------------------------------------------------

/// `current` is the executor that the caller runs on. If the context has gone, the exchange is dropped and fails.
IPYBOX_DECL void client::begin(asio::any_io_executor const& current, std::shared_ptr<exchange> e) {
    // Never cleared: a signal that comes too late finds nothing. Clearing it from here would race with the signal's own
    // thread.
    if (auto slot = e->slot(); slot.is_connected())
        slot.assign([weak = weak_from_this(), which = std::weak_ptr(e)](asio::cancellation_type) {
            auto const self = weak.lock();
            auto const unwanted = which.lock();
            if (self && unwanted) self->executor_.post([self, unwanted] { self->cancel(unwanted); });
        });
    executor_.dispatch(current, [self = shared_from_this(), e = std::move(e)] { self->submit(e); });
}

/// A call that the system does not let be made, for want of memory, say, has an outcome like every other.
IPYBOX_DECL void client::submit(std::shared_ptr<exchange> const& e) {
    if (retired_) return e->fail(error(errc::not_running, "is no longer registered"));
    // One that has ended, or been told to, is not asked any more, though `serve` may not have come to it yet.
    if (session_ && !connection_->has_ended()) return ask(e);
    try {
        wait_for_server(e);
    } catch (...) {
        std::erase(waiting_, e);
        e->fail(error(errc::io_error, "cannot be asked: " + thrown_text()));
    }
}

IPYBOX_DECL void client::wait_for_server(std::shared_ptr<exchange> const& e) {
    if (e->deadline != exchange::clock::time_point::max()) {
        e->patience = std::make_unique<asio::steady_timer>(executor_.get(), e->deadline);
        e->patience->async_wait(ipybox::detail::wait_handler(
            [self = shared_from_this(), which = std::weak_ptr<exchange>(e)](asio::error_code ended) {
                auto const late = which.lock();
                if (ended || !late || std::erase(self->waiting_, late) == 0) return;
                late->fail(error(errc::timed_out,
                                 "was not ready within " + std::to_string(late->options.timeout->count()) + " ms"));
            }));
    }
    waiting_.push_back(e);
    if (std::exchange(serving_, true)) return;
    try {
        ipybox::detail::spawn(executor_.get(), serve(shared_from_this()));
    } catch (...) {
        serving_ = false;
        throw;
    }
}

IPYBOX_DECL void client::ask(std::shared_ptr<exchange> const& e) {
    e->patience.reset();
    try {
        begin_request(e);
    } catch (...) {
        error why(errc::io_error, "cannot be asked: " + thrown_text());
        if (e->sent) connection_->abandon(*std::exchange(e->sent, std::nullopt), "it was not sent");
        e->fail(std::move(why));
    }
}

/// One that is not sent yet has its deadline, and its outcome when the server ends, as every other.
IPYBOX_DECL void client::begin_request(std::shared_ptr<exchange> const& e) {
    // Weak: the connection is ours. While it lives, so does `serve`, and we with it.
    auto const take = [weak = weak_from_this(), e](rpc_outcome outcome) {
        if (auto const self = weak.lock()) self->on_outcome(e, std::move(outcome));
    };
    e->speak(*session_);
    e->sent = connection_->begin({e->deadline, true, e->options.on_progress, e->reader()}, take);
    auto const pause = e->pause();
    if (pause.count() == 0) return send_request(e);
    e->patience = std::make_unique<asio::steady_timer>(executor_.get(), pause);
    e->patience->async_wait(ipybox::detail::wait_handler(
        [weak = weak_from_this(), which = std::weak_ptr(e), id = e->sent](asio::error_code ended) {
            auto const self = weak.lock();
            auto const waiting = which.lock();
            if (!ended && self && waiting && waiting->sent == id) self->send_request(waiting);
        }));
}

IPYBOX_DECL void client::send_request(std::shared_ptr<exchange> const& e) {
    auto const id = *e->sent;
    auto const meta = request_meta(*session_, e->options.on_progress ? std::optional(id) : std::nullopt);
    auto params = e->params();
    params.insert(params.begin(), {"_meta", meta});
    connection_->send(id, e->method(), params, e);
}

IPYBOX_DECL void client::on_outcome(std::shared_ptr<exchange> const& e, rpc_outcome outcome) {
    e->sent.reset();
    try {
        conclude(e, std::move(outcome));
    } catch (...) { e->fail(error(errc::io_error, "answered what cannot be taken: " + thrown_text())); }
    if (!e->sent) cancel_task(*e);
}

/// Tells the server that the task of a request that has ended is not wanted any more, if there is one.
IPYBOX_DECL void client::cancel_task(exchange const& e) {
    auto const task = e.task();
    if (task.empty() || !session_ || !connection_ || connection_->has_ended()) return;
    auto const deadline = exchange::clock::now() + answer_to_cancel;
    auto const id = connection_->begin({.deadline = deadline, .may_cancel = false}, [](rpc_outcome const&) {});
    auto const meta = request_meta(*session_);
    connection_->send(id, "tasks/cancel", {{"_meta", meta}, {"taskId", task}});
}

IPYBOX_DECL void client::conclude(std::shared_ptr<exchange> const& e, rpc_outcome outcome) {
    if (auto const* const why = std::get_if<error>(&outcome)) return e->fail(connector_->names().in_public(*why));
    if (auto const* const why = std::get_if<rpc_error>(&outcome)) {
        error refusal(errc::mcp_refused, "refused `" + std::string(e->method()) + "`: " + to_string(*why));
        bool const is_mismatch = why->code == rpc_header_mismatch && e->method() == tool_call_machine::method;
        if (is_mismatch && !std::exchange(e->has_listed_anew, true)) return list_and_ask(e, std::move(refusal));
        return e->refuse(std::move(refusal), why->code);
    }
    auto const* const read = std::get_if<read_result>(&outcome);
    bool const done = read ? e->take_read(read->value) : e->take(std::get<std::string_view>(outcome));
    if (!done) ask(e);
}

/// The header fields of a call are not those that the server wants: its list of tools, which names them, is read anew,
/// and the call is sent once more (MCP 2026-07-28, "Custom Headers from Tool Parameters").
IPYBOX_DECL void client::list_and_ask(std::shared_ptr<exchange> const& e, error refusal) {
    using outcome = result<std::vector<tool>>;
    auto then = [weak = weak_from_this(), e, refusal = std::move(refusal)](outcome const& tools) {
        auto const self = weak.lock();
        if (!self || e->is_over()) return;
        if (!tools || !self->session_ || self->connection_->has_ended()) return e->fail(refusal);
        self->listed_->replace(*tools);
        self->ask(e);
    };
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(e->deadline - exchange::clock::now());
    call_options how{.timeout = std::min(params_.list_timeout, left)};
    ipybox::detail::completion<outcome> done(ipybox::detail::called_in_place{std::move(then)});
    ask(std::make_shared<exchange_of<tool_list_machine>>(name_, std::move(how), tool_list_machine(), std::move(done)));
}

IPYBOX_DECL void client::cancel(std::shared_ptr<exchange> const& e) {
    std::erase(waiting_, e);
    e->patience.reset();
    if (e->sent && connection_) {
        connection_->abandon(*std::exchange(e->sent, std::nullopt), "the call was cancelled");
        cancel_task(*e);
    }
    e->fail(error(errc::cancelled, "was not waited for: the call was cancelled"));
}

IPYBOX_DECL void client::end_waiting(error const& why) {
    for (auto const& e : std::exchange(waiting_, {})) {
        e->patience.reset();
        e->fail(why);
    }
}

// --- the lives of the server ------------------------------------------------------------------------------------------

/// A stop may come before this coroutine has begun. It then starts no server, and completes the stop.
IPYBOX_DECL asio::awaitable<void> client::serve(client_ptr self) {
    do {
        try {
            if (!self->waiting_.empty()) co_await self->live();
        } catch (...) { // of the system, for want of memory say: each call has an outcome all the same
            self->end_waiting(error(errc::io_error, "cannot be started: " + thrown_text()));
        }
        self->session_.reset();
        self->connection_.reset();
        co_await self->connector_->close();
        auto const ended = std::exchange(self->stop_waiters_, {}); // completes them
    } while (!self->waiting_.empty());
    self->serving_ = false;
}

/// One life of the server, up to its end or to why there is none.
IPYBOX_DECL asio::awaitable<void> client::live() {
    auto agreed = co_await connector_->connect();
    if (connector_->is_stopping()) co_return; // who came after the stop waits for the next life
    if (!agreed) {
        end_waiting(connector_->names().in_public(agreed.error()));
        co_return;
    }
    begin_session(std::move(*agreed));
    (void)co_await connection_->finished();
}

IPYBOX_DECL void client::begin_session(session s) {
    session_ = std::move(s);
    connection_ = connector_->current();
    listed_->instruct(session_->instructions.value_or(""));
    auto const wants_changes = surroundings_.on_tools_changed && session_->announces_tool_changes;
    if (wants_changes && session_->era == era::stateless) {
        // 2026-07-28, "Subscriptions". It is never answered, except to say that it is over.
        auto const id = connection_->begin({.may_cancel = false}, [](rpc_outcome const&) {});
        auto const meta = request_meta(*session_);
        connection_->send(id, "subscriptions/listen",
                          {{"_meta", meta}, {"notifications", R"({"toolsListChanged":true})"}});
    }
    for (auto const& e : std::exchange(waiting_, {})) ask(e);
}

// --- the end ----------------------------------------------------------------------------------------------------------

IPYBOX_DECL void client::end_all() {
    error const stopped(errc::not_running, "was stopped");
    end_waiting(stopped);
    if (serving_) connector_->stop(stopped);
}

IPYBOX_DECL asio::awaitable<void> client::stop() { return stopped(shared_from_this()); }

IPYBOX_DECL asio::awaitable<void> client::stopped(client_ptr self) {
    auto const current = co_await asio::this_coro::executor;
    auto const begin = [&](ipybox::detail::completion<bool> done) {
        auto const asked = std::exchange(self, nullptr);
        asked->executor_.dispatch(
            current, [asked, waiter = ipybox::detail::sure_completion<bool>(std::move(done), true)]() mutable {
                asked->end_all();
                if (asked->serving_) asked->stop_waiters_.push_back(std::move(waiter));
            });
    };
    (void)co_await ipybox::detail::await_completion<bool>(begin);
}

IPYBOX_DECL void client::retire() {
    retired_ = true;
    executor_.post([self = shared_from_this()] { self->end_all(); });
}

IPYBOX_DECL asio::awaitable<std::optional<session>> client::current_session() { return described(shared_from_this()); }

IPYBOX_DECL asio::awaitable<std::optional<session>> client::described(client_ptr self) {
    using outcome = std::optional<session>;
    auto const begin = [&](ipybox::detail::completion<outcome> done) {
        auto const asked = std::exchange(self, nullptr);
        asked->executor_.post(
            [asked, asker = ipybox::detail::sure_completion<outcome>(std::move(done), std::nullopt)]() mutable {
                asker.complete(asked->session_);
            });
    };
    co_return co_await ipybox::detail::await_completion<outcome>(begin);
}

IPYBOX_DECL void client::kill() {
    connector_->kill();
    executor_.post([self = shared_from_this()] { self->end_all(); });
}

/// The I/O context is being destroyed: what belongs to it goes now, and every call has an outcome.
IPYBOX_DECL void client::context_ends() noexcept {
    auto const gone = context_destroyed();
    end_waiting(gone);
    connector_->let_go(gone);
    session_.reset();
    connection_.reset();
    auto const ended = std::exchange(stop_waiters_, {}); // completes them
}

} // namespace ipybox::mcp::detail
