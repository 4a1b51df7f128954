#pragma once

#include <ipybox/app/code_session.hpp>
#include <ipybox/app/code_tools.hpp>
#include <ipybox/app/impl/call_arguments.hpp>
#include <ipybox/app/impl/cell_attendance.hpp>
#include <ipybox/app/impl/server_entry.hpp>
#include <ipybox/app/impl/server_warning.hpp>
#include <ipybox/app/impl/text_answer.hpp>
#include <ipybox/app/middle_cut.hpp>
#include <ipybox/approval/auto_approval.hpp>
#include <ipybox/approval/safe_text.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/codegen/generated_sources.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/server_file.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>
#include <variant>

namespace ipybox {
namespace detail {

/// How long an interrupted cell has to end before the call is answered.
inline constexpr std::chrono::seconds longest_end_of_session{3};

inline constexpr auto cannot_be_asked = "the user cannot be asked: the MCP client shows no forms (it does not declare "
                                        "`elicitation`). The user can start `ipybox mcp` with --approve FILE, "
                                        "a file of rules that allow this, or with --approve auto";
inline constexpr auto without_cell =
    "no cell runs: what a thread does after its cell has ended is not put to the user. Wait "
    "for the thread in the cell, or do it there";
inline constexpr auto denies_all =
    "`ipybox mcp` was started with --approve deny; its user can choose another --approve";

inline void structure(mcp::call_result& answer, nlohmann::ordered_json const& value) {
    if (auto text = mcp::raw_json::of(value)) answer.structured_content = *std::move(text);
}

} // namespace detail

/// While it lives, a call is served: the session is not idle.
class code_session::use {
  public:
    explicit use(code_session& session) : session_(session) { ++session_.calls_; }
    use(use const&) = delete;
    use& operator=(use const&) = delete;
    ~use() {
        --session_.calls_;
        session_.used_ = clock::now();
    }

  private:
    code_session& session_;
};

IPYBOX_DECL code_session::code_session(asio::any_io_executor const& executor, code_session_options options,
                                       std::optional<named_session> named)
    : executor_(executor), options_(std::move(options)), named_(std::move(named)), box_(make_box()),
      on_prepared_(executor), turns_(executor) {
    on_prepared_.expires_at(clock::time_point::max());
    if (!named_) return;
    servers_ = box_.mcp_servers();
    for (auto& note : std::exchange(named_->notes, {})) notes_.add(std::move(note));
}

IPYBOX_DECL executor code_session::make_box() {
    auto policy = policy_for(options_.approval);
    if (named_) return executor(executor_, options_.executor, std::move(policy), named_->shared);
    return executor(executor_, options_.executor, std::move(policy), options_.sandbox);
}

/// Empty for the only session of a client.
IPYBOX_DECL std::string const& code_session::name() const noexcept {
    static auto const& none = detail::never_destroyed<std::string>();
    return named_ ? named_->name : none;
}

IPYBOX_DECL code_session::~code_session() = default;

IPYBOX_DECL result<std::shared_ptr<code_session>> code_session::make(asio::any_io_executor const& executor,
                                                                     code_session_options options) {
    auto session = std::make_shared<code_session>(executor, std::move(options));
    auto const& file = session->options_.mcp_config;
    if (file.empty()) return session;
    auto const added = session->box_.register_mcp_servers(file, session->options_.tool_timeout);
    if (!added) return failure(errc::invalid_argument, added.error().text());
    session->servers_ = added->names;
    for (auto const& notice : added->notices) session->log(log_level::warning, notice);
    return session;
}

IPYBOX_DECL any_approval code_session::policy_for(action_approval approval) {
    if (approval == action_approval::accept) return auto_approval{};
    if (approval == action_approval::deny)
        return [](approval_request const& request) { request.reject(detail::denies_all); };
    return [this, alive = std::weak_ptr<bool const>(alive_)](approval_request request) {
        if (!alive.expired()) on_request(std::move(request));
    };
}

IPYBOX_DECL void code_session::on_request(approval_request request) {
    bool const is_of_cell = !request.cell_id().empty();
    if (!is_of_cell && turns_.questions()) return turns_.questions()->put(std::move(request));
    auto const cell = is_of_cell ? cells_.running() : nullptr;
    if (cell && cell->can_be_asked()) return cell->ask(std::move(request));
    bool const is_of_thread = !is_of_cell && !turns_.is_taken();
    auto const title = safe_text::title(*request.subject());
    // The client may be another one the next time, or have learnt to ask.
    request.reject(is_of_thread ? detail::without_cell : detail::cannot_be_asked, decision::when_repeated::ask);
    log(log_level::warning,
        (is_of_thread ? "rejected, as no cell runs: " : "rejected, as the client's user cannot be asked: ") + title);
}

IPYBOX_DECL code_session::answer code_session::serve(std::shared_ptr<code_session> self, call_ptr call) {
    co_await asio::this_coro::throw_if_cancelled(false);
    use const served(*self);
    self->prepare();
    co_return co_await serve_tool(self, call);
}

IPYBOX_DECL code_session::answer code_session::serve_tool(std::shared_ptr<code_session> self, call_ptr call) {
    co_await asio::this_coro::throw_if_cancelled(false);
    auto const& tool = call->tool();
    self->log(log_level::debug, tool);
    if (tool == code_tool_name::execute_ipython_cell) co_return co_await execute(self, call);
    if (tool == code_tool_name::wait_for_cell) co_return co_await wait_for_cell(self, call);
    if (tool == code_tool_name::interrupt_cell) co_return co_await interrupt_cell(self, call);
    if (tool == code_tool_name::cell_output) co_return self->cell_output(*call);
    if (tool == code_tool_name::reset) co_return co_await reset(self, call);
    if (tool == code_tool_name::install_package) co_return co_await install_package(self, call);
    if (tool == code_tool_name::register_mcp_server) co_return co_await register_mcp_server(self, call);
    co_return detail::failed_answer("there is no such tool");
}

IPYBOX_DECL asio::awaitable<void> code_session::stop(std::shared_ptr<code_session> self) {
    (void)co_await self->box_.async_stop();
}

IPYBOX_DECL void code_session::log(log_level level, std::string const& text) const {
    if (options_.log) options_.log(level, named_ ? "session " + named_->name + ": " + text : text);
}

// --- cells

IPYBOX_DECL code_session::answer code_session::execute(std::shared_ptr<code_session> self, call_ptr call) {
    co_await prepared(self, call);
    if (call->cancelled()) co_return mcp::call_result();
    // Behind the wait: other calls have waited beside this one.
    if (auto room = self->cells_.check_room(); !room) co_return detail::failed_answer(room.error().text());
    auto const cell = self->submit(*call);
    auto const wait = detail::seconds_of(*call, "wait_seconds", self->options_.wait);
    auto until = std::optional<clock::time_point>();
    if (wait) until = clock::now() + *wait;
    co_await detail::attend(self->executor_, call, cell, until, self->name());
    if (call->cancelled() && !cell->has_ended()) {
        cell->handle().cancel();
        self->notes_.add_cancelled(cell->id());
        self->log(log_level::info, "cell " + cell->id() + ": cancelled by the client");
        co_return mcp::call_result();
    }
    co_return self->answer_of(*cell, *call);
}

IPYBOX_DECL std::shared_ptr<kept_cell> code_session::submit(mcp::server::call const& call) {
    execute_options options;
    options.timeout = detail::seconds_of(call, "timeout", std::chrono::seconds(120));
    auto const cell = std::make_shared<kept_cell>(
        box_.submit(detail::without_fence(detail::text_of(call, "code")), std::move(options)), call.can_elicit());
    cells_.add(cell);
    ++open_cells_;
    detail::spawn(executor_, watch(weak_from_this(), cell));
    return cell;
}

/// Tells when the job of a cell has ended.
IPYBOX_DECL asio::awaitable<void> code_session::watch(std::weak_ptr<code_session> weak,
                                                      std::shared_ptr<kept_cell> cell) {
    while (!cell->has_ended()) (void)co_await cell->handle().async_wait(std::chrono::hours(24));
    cell->end();
    auto const self = weak.lock();
    if (!self) co_return;
    --self->open_cells_;
    self->used_ = clock::now();
    self->cells_.make_room();
    auto const seen = cell->view(job::npos);
    auto const status = status_of(seen);
    if (seen.outcome && !*seen.outcome) self->note_loss(seen.outcome->error());
    self->log(log_level::info, "cell " + cell->id() + ": " + std::string(status));
}

IPYBOX_DECL mcp::call_result code_session::answer_of(kept_cell const& cell, mcp::server::call const& call) {
    auto seen = cell.view();
    seen.session = name();
    // A call that was cancelled meanwhile leaves them to the next one.
    if (!call.cancelled()) seen.notes = notes_.take(name());
    answer_bounds bounds;
    bounds.max_output_chars = detail::count_of(call, "max_output_chars", bounds.max_output_chars);
    return answer_about(seen, bounds);
}

IPYBOX_DECL code_session::answer code_session::wait_for_cell(std::shared_ptr<code_session> self, call_ptr call) {
    auto const cell = self->cells_.find(detail::text_of(*call, "id"));
    if (!cell) co_return detail::failed_answer(cell.error().text());
    auto const wait = detail::seconds_of(*call, "wait_seconds", std::chrono::seconds(20));
    auto const until = std::optional(clock::now() + *wait);
    co_await detail::attend(self->executor_, call, *cell, until, self->name());
    co_return self->answer_of(**cell, *call);
}

IPYBOX_DECL code_session::answer code_session::interrupt_cell(std::shared_ptr<code_session> self, call_ptr call) {
    auto const cell = self->cells_.find(detail::text_of(*call, "id"));
    if (!cell) co_return detail::failed_answer(cell.error().text());
    if ((*cell)->handle().state() == detail::job_state::waiting)
        (*cell)->handle().cancel();
    else
        (*cell)->handle().interrupt();
    auto const until = std::optional(clock::now() + detail::longest_end_of_session);
    co_await detail::attend(self->executor_, call, *cell, until, self->name());
    auto answer = self->answer_of(**cell, *call);
    answer.is_error = false; // the interrupt is what was asked for
    co_return answer;
}

IPYBOX_DECL mcp::call_result code_session::cell_output(mcp::server::call const& call) {
    auto const cell = cells_.find(detail::text_of(call, "id"));
    if (!cell) return detail::failed_answer(cell.error().text());
    answer_bounds bounds;
    bounds.max_output_chars = detail::count_of(call, "max_output_chars", bounds.max_output_chars);
    bounds.kept = answer_bounds::part::beginning;
    auto seen = (*cell)->view(detail::count_of(call, "from", 0));
    seen.session = name();
    auto told = answer_about(seen, bounds);
    told.is_error = false; // the cell failed, and reading it did not
    return told;
}

IPYBOX_DECL code_session::answer code_session::reset(std::shared_ptr<code_session> self, call_ptr) {
    auto const done = co_await self->box_.async_reset();
    if (!done) {
        self->note_loss(done.error());
        co_return detail::failed_answer(done.error().text());
    }
    self->log(log_level::info, "the kernel was reset");
    co_return detail::text_answer("The kernel was reset.");
}

// --- what belongs to no cell

IPYBOX_DECL code_session::answer code_session::install_package(std::shared_ptr<code_session> self, call_ptr call) {
    auto const words = detail::package_words(*call);
    if (!words) co_return detail::failed_answer(words.error().text());
    co_await self->turns_.wait();
    if (call->cancelled()) co_return mcp::call_result();
    host_turns::turn const turn(self->turns_, call);
    auto const installed = co_await self->box_.async_install_package(*words);
    if (!installed) {
        self->note_loss(installed.error());
        co_return detail::failed_answer(installed.error().text());
    }
    nlohmann::ordered_json packages = nlohmann::ordered_json::array();
    std::string names;
    for (auto const& package : installed->installed) {
        packages.push_back({{"name", package.name}, {"version", package.version}});
        names += " " + package.name + "-" + package.version;
    }
    self->log(log_level::info, names.empty() ? "nothing to install" : "installed" + names);
    auto const cut = cut_middle(installed->output, answer_bounds().max_output_chars);
    auto output = std::string(cut.head);
    if (cut.left_out > 0) output.append("\n[...]\n").append(cut.tail);
    if (output.empty()) output = names.empty() ? "Everything is installed already." : "Installed" + names;
    nlohmann::ordered_json const value{{"installed", packages}, {"output", output}};
    auto answer = detail::text_answer(std::move(output));
    detail::structure(answer, value);
    co_return answer;
}

IPYBOX_DECL code_session::answer code_session::register_mcp_server(std::shared_ptr<code_session> self, call_ptr call) {
    auto const name = detail::text_of(*call, "server_name");
    if (auto named = detail::check_new_server(name); !named) co_return detail::failed_answer(named.error().text());
    auto const entry = detail::read_server_entry(call->arguments().at("server_params"));
    if (!entry) co_return detail::failed_answer(entry.error().text());
    auto params = mcp::server_params::read(nlohmann::json(*entry));
    if (!params) co_return detail::failed_answer("server_params: " + params.error().text());
    if (params->is_remote())
        co_return detail::failed_answer(
            "server_params: servers that are reached over HTTP cannot be registered; give `command`");
    auto const& workspace = self->named_ ? self->named_->workspace : self->options_.executor.working_dir;
    if (params->working_dir.empty()) params->working_dir = workspace.string();
    approval_subject subject;
    subject.kind = approval_subject::action::server;
    subject.server = name;
    subject.arguments = std::make_shared<nlohmann::ordered_json const>(*entry);

    co_await self->turns_.wait();
    if (call->cancelled()) co_return mcp::call_result();
    host_turns::turn const turn(self->turns_, call);
    // As it is shown, so it has to be when it starts.
    auto seen = detail::preview_of(self->box_, *params, subject);
    if (self->turns_.questions()) self->turns_.questions()->warn(detail::server_warning(seen));
    co_return co_await add_server(self, name, *std::move(params), std::move(subject), std::move(seen.memory));
}

IPYBOX_DECL code_session::answer code_session::add_server(std::shared_ptr<code_session> self, std::string name,
                                                          mcp::server_params params, approval_subject subject,
                                                          mcp::detail::file_memory seen) {
    auto const approved = co_await self->box_.async_approve(std::move(subject));
    if (!approved) co_return detail::failed_answer(approved.error().text());
    auto const began = clock::now();
    detail::action_outcome how;
    mcp::call_result answer;
    auto const root = self->options_.executor.working_dir / "mcptools";
    if (auto replaced = detail::replace_in(self->box_, name, std::move(params), std::move(seen)); !replaced) {
        how.failure = replaced.error().code();
        answer = detail::failed_answer(replaced.error().text());
    } else if (auto const made = co_await self->box_.async_generate_mcp_sources(name, root); !made) {
        self->box_.remove_mcp_server(name);
        how.failure = made.error().code();
        answer = detail::failed_answer(made.error().text());
    } else {
        // In one block: clients join texts without anything between them.
        std::string names;
        for (auto const& module : made->modules) names.append(names.empty() ? "" : "\n").append(module);
        answer = detail::text_answer(names.empty() ? "[the server has no tools]" : std::move(names));
        nlohmann::ordered_json const value{{"tools", made->modules}};
        detail::structure(answer, value);
        for (auto const& notice : made->notices)
            self->log(log_level::warning, name + "." + notice.tool + ": " + notice.text);
        for (auto const& file : self->box_.unprotected_files()) self->log(log_level::warning, file.text());
    }
    how.duration = clock::now() - began;
    self->box_.record_outcome(*approved, how);
    co_return answer;
}

// --- the beginning

IPYBOX_DECL void code_session::prepare() {
    if (std::exchange(prepare_begun_, true)) return;
    // If it fails, the first cell says why.
    box_.async_start([](result<void> const&) {});
    prepared_ = servers_.empty();
    if (!prepared_) generate_all();
}

/// Generates the packages of the configured servers, all at the same time.
IPYBOX_DECL void code_session::generate_all() {
    auto const root = options_.executor.working_dir / "mcptools";
    auto const left = std::make_shared<std::size_t>(servers_.size());
    for (auto const& name : servers_) {
        auto const ended = [self = shared_from_this(), name, left](result<codegen::generated_sources> const& made) {
            if (!made) self->tell_missing(name, made.error());
            if (--*left > 0) return;
            self->prepared_ = true;
            self->on_prepared_.cancel();
        };
        box_.async_generate_mcp_sources(name, root, ended);
    }
}

IPYBOX_DECL asio::awaitable<void> code_session::add_package(std::shared_ptr<code_session> self, std::string server) {
    if (!self->prepare_begun_) {
        if (std::ranges::find(self->servers_, server) == self->servers_.end()) self->servers_.push_back(server);
        co_return;
    }
    auto const root = self->options_.executor.working_dir / "mcptools";
    auto const made = co_await self->box_.async_generate_mcp_sources(server, root);
    if (!made) self->tell_missing(server, made.error());
}

IPYBOX_DECL void code_session::tell_missing(std::string const& server, error const& why) {
    notes_.add("the tools of the MCP server " + server + " are missing: " + why.text());
    log(log_level::warning, why.text());
}

/// A supervisor that sessions share is not replaced by their executors.
IPYBOX_DECL void code_session::note_loss(error const& why) {
    if (named_ && why == errc::supervisor_died) has_lost_runtime_ = true;
}

IPYBOX_DECL std::optional<std::chrono::steady_clock::time_point> code_session::idle_since() const noexcept {
    if (calls_ > 0 || open_cells_ > 0) return std::nullopt;
    return used_;
}

/// Waits until the packages of the configured servers are there, or the call is cancelled.
IPYBOX_DECL asio::awaitable<void> code_session::prepared(std::shared_ptr<code_session> self, call_ptr call) {
    while (!self->prepared_ && !call->cancelled()) co_await detail::rest(self->on_prepared_);
}

} // namespace ipybox
