#pragma once

#include <ipybox/async/aside.hpp>
#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/emit_cancellation.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/tools/counted_executor.hpp>
#include <ipybox/tools/host_call.hpp>
#include <ipybox/tools/host_tool.hpp>
#include <ipybox/tools/tool_package.hpp>
#include <ipybox/tools/tool_threads.hpp>

#include <asio/cancellation_signal.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <utility>

namespace ipybox::detail {

/// One call on its way to its function. Dropping it fails it: a queue that is gone, say.
class tool_run : public std::enable_shared_from_this<tool_run> {
  public:
    tool_run(std::shared_ptr<host_tool const> tool, std::shared_ptr<host_call> call, mcp::raw_json arguments,
             tool_places places)
        : tool_(std::move(tool)), call_(std::move(call)), sent_(std::move(arguments)), places_(std::move(places)) {}
    tool_run(tool_run const&) = delete;
    tool_run& operator=(tool_run const&) = delete;
    ~tool_run() = default;

    /// Begins it; where it has to be read first, that is done here or on a thread.
    void begin() {
        bool const is_long = sent_.text().size() >= long_text;
        if (blocks_on_threads()) return on_threads(&tool_run::read_and_run);
        if (is_long) return on_threads(&tool_run::read_and_send);
        read_and_send();
    }

  private:
    [[nodiscard]] tool_executor const& place() const { return tool_->get_options().executor; }
    [[nodiscard]] tool_style style() const { return tool_->body()->style(); }
    [[nodiscard]] bool blocks_on_threads() const {
        return style() == tool_style::blocking && !place().is_named() && !place().is_own_strand();
    }

    void on_threads(void (tool_run::*what)()) {
        guarded([&] {
            tool_threads::work work;
            work.run = [self = shared_from_this(), what] { (self.get()->*what)(); };
            work.has_ended = [call = call_] { return call->is_settled(); };
            work.refuse = [call = call_] {
                call->settle(failure(errc::would_deadlock,
                                     "no thread is free for a host tool: all are in functions of calls that have "
                                     "ended, and that have not returned; let these functions look at stop_requested() "
                                     "or give them a bound"));
            };
            if (!places_.threads->run(std::move(work))) has_ended();
        });
    }

    void has_ended() { call_->settle(failure(errc::not_running, "the session has ended")); }

    /// False where the arguments are refused, or the call has ended.
    [[nodiscard]] bool read() {
        if (call_->is_settled()) return false;
        nlohmann::json arguments =
            sent_.value(); // which goes through long strings in runs, unlike nlohmann/json's parser
        auto const wrong = check(arguments);
        if (wrong) {
            refuse("the arguments of " + tool_->name() + " are refused: " + *wrong);
            return false;
        }
        arguments_ = std::move(arguments);
        return true;
    }

    [[nodiscard]] std::optional<std::string> check(nlohmann::json const& arguments) {
        if (arguments.is_null()) return "they have an integer that is too large, or are null";
        call_->budget = check_budget(sent_.text().size(), call_->stop_token());
        try {
            return find_mismatch(tool_->listed().input_schema, arguments, call_->budget);
        } catch (check_stopped const& stopped) { return stopped.what(); }
    }

    void refuse(std::string text) { call_->settle(tool_result::failed(std::move(text)).take()); }

    void read_and_run() {
        guarded([&] {
            if (read()) run();
        });
    }

    void read_and_send() {
        guarded([&] {
            if (read()) send();
        });
    }

    void send() {
        if (style() == tool_style::coroutine) return spawn_coroutine();
        auto const work = [self = shared_from_this()] {
            tool_threads::running const counted(*self->places_.threads);
            self->guarded([&] { self->run(); });
        };
        bool const sent = place().is_named() ? place().run(work) : places_.turns->post(work);
        if (!sent) call_->settle(failure(errc::not_running, "the executor of the host tool is gone"));
    }

    /// Calls a function that is no coroutine. Calls that were cancelled while they waited are not begun. A loop may do
    /// its work twice, or keep it.
    void run() {
        if (!has_run_.exchange(true) && !call_->is_settled()) tool_->body()->call(call_, std::move(arguments_));
    }

    void spawn_coroutine() {
        auto const target = place().is_named() ? place().asio() : places_.session;
        auto const signal = std::make_shared<asio::cancellation_signal>();
        // Signals are for the executor of their coroutine alone.
        call_->on_cancel([signal, target] { target->post([signal] { emit_cancellation(*signal); }); });
        auto const ended = [call = call_, signal](std::exception_ptr thrown, tool_result returned) {
            if (thrown) returned = tool_result::failed(text_of(thrown));
            call->settle(std::move(returned).take());
        };
        auto const start = [self = shared_from_this(), signal, ended, target] {
            if (self->call_->is_settled()) return;
            auto const& body = self->tool_->body();
            auto work = body->begin(body, self->call_, std::move(self->arguments_));
            asio::any_io_executor const counted = counted_executor(target->get(), self->places_.threads);
            spawn(counted, std::move(work), ended, signal->slot());
        };
        if (!target->post(start)) call_->settle(failure(errc::not_running, "the executor of the host tool is gone"));
    }

    template <class Work>
    void guarded(Work work) {
        try {
            work();
        } catch (...) { refuse(text_of(std::current_exception())); }
    }

    std::shared_ptr<host_tool const> const tool_;
    std::shared_ptr<host_call> const call_;
    mcp::raw_json const sent_;
    tool_places const places_;
    nlohmann::json arguments_;
    std::atomic<bool> has_run_ = false;
};

IPYBOX_DECL tool_package::tool_package(std::string name, tool_places places)
    : name_(std::move(name)), places_(std::move(places)) {}

IPYBOX_DECL std::vector<tool_package::tool_ptr> tool_package::shared(std::vector<host_tool> tools) {
    std::vector<tool_ptr> all;
    all.reserve(tools.size());
    for (auto& tool : tools) all.push_back(std::make_shared<host_tool const>(std::move(tool)));
    return all;
}

IPYBOX_DECL result<void> tool_package::add(std::vector<host_tool> tools) { return add(shared(std::move(tools))); }

IPYBOX_DECL result<void> tool_package::add(std::vector<tool_ptr> const& tools) {
    for (auto const& tool : tools)
        if (auto fits = tool->check(); !fits) return fits;
    std::scoped_lock const lock(mutex_);
    if (ended_) return failure(errc::not_running);
    auto all = tools_;
    for (auto const& tool : tools) {
        if (std::ranges::any_of(all, [&](auto const& other) { return other->name() == tool->name(); }))
            return failure(errc::invalid_argument, "there is a tool " + name_ + "." + tool->name() +
                                                       " already; remove it before, or choose another name");
        all.push_back(tool);
    }
    tools_ = std::move(all);
    return {};
}

IPYBOX_DECL bool tool_package::remove(std::string const& name) {
    tool_ptr removed;
    std::vector<under_way> calls;
    {
        std::scoped_lock const lock(mutex_);
        auto const found = std::ranges::find(tools_, name, [](auto const& tool) { return tool->name(); });
        if (found == tools_.end()) return false;
        removed = *found;
        tools_.erase(found);
        auto const others = std::ranges::partition(calls_, [&](auto const& each) { return each.tool != removed; });
        std::ranges::move(others, std::back_inserter(calls));
        calls_.erase(others.begin(), others.end());
    }
    end_calls(std::move(calls), "the tool was removed");
    return true;
}

IPYBOX_DECL std::vector<mcp::tool> tool_package::tools() const {
    std::scoped_lock const lock(mutex_);
    std::vector<mcp::tool> list;
    list.reserve(tools_.size());
    for (auto const& tool : tools_) list.push_back(tool->listed());
    return list;
}

IPYBOX_DECL std::optional<tool_annotations> tool_package::annotations(std::string const& tool) const {
    auto const found = find(tool);
    return found ? std::optional(found->annotations()) : std::nullopt;
}

IPYBOX_DECL tool_package::tool_ptr tool_package::find(std::string const& name) const {
    std::scoped_lock const lock(mutex_);
    auto const found = std::ranges::find(tools_, name, [](auto const& tool) { return tool->name(); });
    return found == tools_.end() ? nullptr : *found;
}

/// Remembers a call, so that it can be ended; false when all has ended, or the tool was removed since it was found.
IPYBOX_DECL bool tool_package::keep(tool_ptr const& tool, std::shared_ptr<host_call> const& call) {
    std::scoped_lock const lock(mutex_);
    if (ended_ || std::ranges::find(tools_, tool) == tools_.end()) return false;
    if (calls_.size() >= sweep_at_) {
        std::erase_if(calls_, [](auto const& each) {
            auto const open = each.call.lock();
            return !open || open->is_settled();
        });
        sweep_at_ = 64 + 2 * calls_.size();
    }
    calls_.push_back({tool, call});
    return true;
}

IPYBOX_DECL void tool_package::begin(tool_ptr const& tool, std::shared_ptr<host_call> call, mcp::raw_json arguments) {
    if (!keep(tool, call)) {
        call->settle(failure(errc::not_running, "the tool was removed, or the session has ended"));
        return;
    }
    try {
        std::make_shared<tool_run>(tool, call, std::move(arguments), places_)->begin();
    } catch (...) { call->settle(failure(errc::io_error, "the host could not do this")); }
}

// While it waits, the coroutine belongs to its completion: it holds no call, which has the completion.
IPYBOX_DECL asio::awaitable<result<mcp::call_result>> tool_package::call(std::string tool, mcp::raw_json arguments,
                                                                         mcp::call_options options) {
    auto const self = shared_from_this();
    auto const found = find(tool);
    if (!found) co_return failure(errc::mcp_refused, "the application offers no tool " + name_ + "." + tool);
    auto const start = [&](completion<host_call::outcome> done) {
        auto slot = done.slot();
        auto call = std::make_shared<host_call>(places_.session, std::move(options.on_progress), std::move(done));
        if (slot.is_connected())
            slot.assign([weak = std::weak_ptr(call), threads = places_.threads](asio::cancellation_type) {
                if (auto const waiting = weak.lock()) waiting->cancel(error(errc::cancelled, "the call was cancelled"));
                threads->call_ended();
            });
        begin(found, std::move(call), std::move(arguments));
    };
    co_return co_await await_completion<host_call::outcome>(start);
}

IPYBOX_DECL void tool_package::end_calls(std::vector<under_way> calls, std::string const& why) {
    for (auto const& each : calls)
        if (auto const call = each.call.lock()) call->cancel(error(errc::not_running, why));
    places_.threads->call_ended();
}

IPYBOX_DECL void tool_package::end() {
    std::vector<under_way> calls;
    std::vector<tool_ptr> tools;
    {
        std::scoped_lock const lock(mutex_);
        ended_ = true;
        calls = std::exchange(calls_, {});
        tools = std::exchange(tools_, {});
    }
    end_calls(std::move(calls), "the tool was removed, or the session has ended");
}

} // namespace ipybox::detail
