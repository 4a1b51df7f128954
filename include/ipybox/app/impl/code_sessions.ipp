#pragma once

#include <ipybox/app/code_session.hpp>
#include <ipybox/app/code_sessions.hpp>
#include <ipybox/app/code_tools.hpp>
#include <ipybox/app/impl/call_arguments.hpp>
#include <ipybox/app/impl/text_answer.hpp>
#include <ipybox/app/impl/written_seconds.hpp>
#include <ipybox/app/session_directory.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/os/lies_in.hpp>

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace ipybox {
namespace detail {

/// A directory of the workspace is that of the session instead; another one has a directory for each.
inline std::filesystem::path of_session(std::filesystem::path const& path, std::filesystem::path const& workspace,
                                        std::filesystem::path const& directory, std::string_view name) {
    if (path.empty()) return path;
    return os::lies_in(path, workspace) ? directory / path.lexically_relative(workspace) : path / name;
}

} // namespace detail

/// A session that a client has, from its first call until it has ended.
struct code_sessions::open_session {
    open_session(asio::any_io_executor const& executor, std::string named, std::shared_ptr<code_session> of)
        : name(std::move(named)), session(std::move(of)), alarm(executor), on_end(executor) {
        on_end.expires_at(asio::steady_timer::time_point::max());
    }

    std::string name;
    std::shared_ptr<code_session> session;
    asio::steady_timer alarm;  ///< of the look whether it is idle
    asio::steady_timer on_end; ///< cancelled when it has ended
    bool is_ending = false;
};

IPYBOX_DECL code_sessions::code_sessions(asio::any_io_executor const& executor, code_session_options options)
    : executor_(executor), options_(std::move(options)), bounds_(options_.sessions.value_or(named_sessions())),
      servers_(std::make_shared<mcp::server_registry>(
          executor, options_.executor.mcp.options ? *options_.executor.mcp.options : mcp::registry_options())),
      runtime_(make_runtime()) {
    options_.executor.mcp.registry = servers_;
}

IPYBOX_DECL code_sessions::~code_sessions() = default;

IPYBOX_DECL result<std::shared_ptr<code_sessions>> code_sessions::make(asio::any_io_executor const& executor,
                                                                       code_session_options options) {
    if (auto made = make_sessions_directory(options.executor.working_dir); !made) return failure(made);
    auto sessions = std::make_shared<code_sessions>(executor, std::move(options));
    auto const& file = sessions->options_.mcp_config;
    if (file.empty()) return sessions;
    auto const added = sessions->servers_->add_file(file, sessions->options_.server_timeouts);
    if (!added) return failure(errc::invalid_argument, added.error().text());
    for (auto const& notice : added->notices) sessions->log(log_level::warning, notice);
    return sessions;
}

IPYBOX_DECL runtime code_sessions::make_runtime() const {
    auto const& box = options_.executor;
    runtime::options shared;
    shared.working_dir = sessions_directory(box.working_dir);
    shared.kernel.env = box.kernel.env;
    shared.kernel.python = box.kernel.python;
    shared.kernel.preload = box.kernel.preload;
    shared.sandbox = box.sandbox;
    shared.kernel.packages = box.kernel.packages;
    return runtime(std::move(shared), options_.sandbox);
}

IPYBOX_DECL code_session_options code_sessions::options_in(std::filesystem::path const& directory,
                                                           std::string_view name) const {
    auto own = options_;
    auto& box = own.executor;
    box.output.images_dir = detail::of_session(box.output.images_dir, box.working_dir, directory, name);
    box.output.spill_dir = detail::of_session(box.output.spill_dir, box.working_dir, directory, name);
    box.working_dir = directory;
    box.approval.audit_session = name;
    return own;
}

IPYBOX_DECL void code_sessions::log(log_level level, std::string const& text) const {
    if (options_.log) options_.log(level, text);
}

// --- calls

IPYBOX_DECL code_sessions::answer code_sessions::serve(std::shared_ptr<code_sessions> self, call_ptr call) {
    co_await asio::this_coro::throw_if_cancelled(false);
    auto const& tool = call->tool();
    auto name = detail::text_of(*call, "session");
    bool const is_named = detail::argument(*call, "session") != nullptr;
    if (!is_named) name = default_session;
    if (auto fits = check_session_name(name); !fits) co_return detail::failed_answer(fits.error().text());
    co_await replace_lost_runtime(self);
    bool const reads = tool == code_tool_name::cell_output || tool == code_tool_name::wait_for_cell ||
                       tool == code_tool_name::interrupt_cell;
    auto const session = co_await open(self, name, reads ? absent::is_refused : absent::is_begun);
    if (!session) co_return detail::failed_answer(session.error().text());
    auto answer = co_await code_session::serve(*session, call);
    if (tool == code_tool_name::register_mcp_server && !answer.is_error)
        self->share_server(detail::text_of(*call, "server_name"), **session);
    co_return answer;
}

/// The session of a name, which is waited for while the one before is being ended.
IPYBOX_DECL code_sessions::opened code_sessions::open(std::shared_ptr<code_sessions> self, std::string name,
                                                      absent what) {
    auto found = self->find(name);
    while (found && found->is_ending) {
        co_await detail::rest(found->on_end);
        found = self->find(name);
    }
    if (found) co_return found->session;
    if (self->stopping_) co_return failure(errc::not_running);
    if (what == absent::is_refused) co_return failure(self->no_session(name));
    auto begun = self->begin(name);
    if (!begun) co_return failure(begun);
    co_return (*begun)->session;
}

IPYBOX_DECL result<code_sessions::session_ptr> code_sessions::begin(std::string const& name) {
    if (auto room = check_room(name); !room) return failure(room);
    auto const& workspace = options_.executor.working_dir;
    auto const directory = make_session_directory(workspace, name);
    if (!directory) return failure(directory.error());
    named_session named{name, workspace, runtime_, {}};
    if (auto why = ended_.take(name)) named.notes.push_back(*std::move(why));
    auto session = std::make_shared<code_session>(executor_, options_in(*directory, name), std::move(named));
    auto begun = std::make_shared<open_session>(executor_, name, std::move(session));
    open_.emplace(name, begun);
    detail::spawn(executor_, end_when_idle(weak_from_this(), begun));
    log(log_level::info, "session " + name + ": begun");
    return begun;
}

IPYBOX_DECL code_sessions::session_ptr code_sessions::find(std::string_view name) const {
    auto const found = open_.find(name);
    return found == open_.end() ? nullptr : found->second;
}

IPYBOX_DECL std::string code_sessions::names() const {
    std::string text;
    for (auto const& [name, session] : open_) text.append(text.empty() ? "\"" : ", \"").append(name).append("\"");
    return text;
}

IPYBOX_DECL result<void> code_sessions::check_room(std::string_view name) const {
    auto const taken = open_.size() - open_.count(default_session);
    if (name == default_session || taken < bounds_.most) return {};
    return failure(errc::invalid_argument,
                   std::to_string(bounds_.most) + " sessions are open, and no more can be: " + names() +
                       ". Use one of them; reset(session=NAME) empties it. A session that is idle for " +
                       detail::written_seconds(bounds_.idle) + " s is ended");
}

IPYBOX_DECL error code_sessions::no_session(std::string const& name) const {
    if (auto const why = ended_.find(name)) return error(errc::invalid_argument, *why + ", and so are its cells");
    auto const others = open_.empty() ? "no cell was executed yet" : "there are " + names();
    return error(errc::invalid_argument, "there is no session \"" + name + "\": " + others +
                                             ". execute_ipython_cell begins a session by naming it");
}

/// Offers the package of a server to all other sessions. One that begins meanwhile knows the server.
IPYBOX_DECL void code_sessions::share_server(std::string const& server, code_session const& registered_by) const {
    if (!servers_->params(server)) return; // the call was cancelled before
    for (auto const& [name, other] : open_)
        if (other->session.get() != &registered_by && !other->is_ending) other->session->offer_package(server);
}

// --- ends

IPYBOX_DECL asio::awaitable<void> code_sessions::end_when_idle(std::weak_ptr<code_sessions> weak, session_ptr session) {
    using clock = std::chrono::steady_clock;
    for (;;) {
        auto self = weak.lock();
        if (!self || session->is_ending || self->stopping_) co_return;
        auto const now = clock::now();
        auto const since = session->session->idle_since();
        auto const due = since.value_or(now) + self->bounds_.idle;
        if (since && now >= due) {
            self->ended_.add_idle(session->name, self->bounds_.idle);
            self->log(log_level::info, "session " + session->name + ": ended, as it was idle");
            co_await end(self, session);
            co_return;
        }
        session->alarm.expires_at(due);
        self.reset(); // while this waits, it must not keep the sessions alive
        co_await detail::rest(session->alarm);
    }
}

/// Ends one session. Until then its name leads to it.
IPYBOX_DECL asio::awaitable<void> code_sessions::end(std::shared_ptr<code_sessions> self, session_ptr session) {
    session->is_ending = true;
    session->alarm.cancel();
    co_await code_session::stop(session->session);
    if (self->find(session->name) == session) self->open_.erase(session->name);
    session->on_end.cancel();
}

/// When the sandbox of all sessions has ended by itself, they are ended, and the next ones get another.
IPYBOX_DECL asio::awaitable<void> code_sessions::replace_lost_runtime(std::shared_ptr<code_sessions> self) {
    bool const is_lost = std::ranges::any_of(self->open_, [](auto const& entry) {
        return !entry.second->is_ending && entry.second->session->has_lost_runtime();
    });
    if (!is_lost) co_return;
    self->log(log_level::error, "the sandbox of all sessions has ended; the next call gets another");
    self->runtime_ = self->make_runtime();
    std::vector<session_ptr> lost;
    for (auto const& [name, session] : self->open_)
        if (!session->is_ending) lost.push_back(session);
    for (auto const& each : lost) each->is_ending = true;
    for (auto const& each : lost) {
        self->ended_.add_lost(each->name);
        co_await end(self, each);
    }
}

IPYBOX_DECL asio::awaitable<void> code_sessions::stop(std::shared_ptr<code_sessions> self) {
    self->stopping_ = true;
    auto const left = std::make_shared<std::size_t>(1);
    auto const all = std::make_shared<asio::steady_timer>(self->executor_);
    all->expires_at(asio::steady_timer::time_point::max());
    auto const ended = [left, all](std::exception_ptr const&) {
        if (--*left == 0) all->cancel();
    };
    auto const open = self->open_;
    for (auto const& [name, session] : open) {
        ++*left;
        detail::spawn(self->executor_, end(self, session), ended);
    }
    co_await self->servers_->stop();
    self->servers_->kill();
    ended(nullptr);
    while (*left > 0) co_await detail::rest(*all);
}

} // namespace ipybox
