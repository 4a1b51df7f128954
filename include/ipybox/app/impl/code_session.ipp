#pragma once

#include <ipybox/app/code_session.hpp>
#include <ipybox/app/code_tools.hpp>
#include <ipybox/app/impl/call_arguments.hpp>
#include <ipybox/app/impl/cell_attendance.hpp>
#include <ipybox/app/impl/kept_server_source.hpp>
#include <ipybox/app/impl/server_registration.hpp>
#include <ipybox/app/impl/text_answer.hpp>
#include <ipybox/app/middle_cut.hpp>
#include <ipybox/approval/auto_approval.hpp>
#include <ipybox/approval/safe_text.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/codegen/generated_sources.hpp>
#include <ipybox/core/first_line.hpp>
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
    : executor_(executor), options_(std::move(options)), named_(std::move(named)), box_(make_box()), turns_(executor) {
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
    auto const added = session->box_.register_mcp_servers(file, session->options_.server_timeouts);
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
    self->begin();
    auto answered = co_await serve_tool(self, call);
    // Behind the first answer: until then the kernel has the machine for itself.
    if (!std::exchange(self->has_answered_, true)) self->box_.begin_mcp_sources();
    co_return answered;
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

/// Each line by itself.
IPYBOX_DECL void code_session::log(log_level level, std::string_view text) const {
    if (!options_.log) return;
    auto const begin = named_ ? "session " + named_->name + ": " : std::string();
    do {
        auto const line = detail::first_line(text);
        options_.log(level, begin + std::string(line));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    } while (!text.empty());
}

// --- cells

IPYBOX_DECL code_session::answer code_session::execute(std::shared_ptr<code_session> self, call_ptr call) {
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
    auto wanted =
        detail::server_registration::read(detail::text_of(*call, "server_name"), call->arguments().at("server_params"),
                                          self->workspace(), self->options_.server_timeouts);
    if (!wanted) co_return detail::failed_answer(wanted.error().text());
    co_await self->turns_.wait();
    if (call->cancelled()) co_return mcp::call_result();
    host_turns::turn const turn(self->turns_, call);
    auto const registry = self->box_.mcp_registry();
    if (!registry) co_return detail::failed_answer("the executor has ended");
    wanted->look_at(*registry);
    auto subject = wanted->subject;
    auto const approved = co_await self->box_.async_approve(std::move(subject));
    if (!approved) co_return detail::failed_answer(approved.error().text());
    auto const began = clock::now();
    detail::action_outcome how;
    auto const made = co_await add_server(self, *wanted);
    if (!made) how.failure = made.error().code();
    how.duration = clock::now() - began;
    self->box_.record_outcome(*approved, how);
    co_return made ? detail::answer_with_tools(*made) : self->failed_server(made.error());
}

/// Registers a server that was approved, generates its package, and keeps it for later runs.
IPYBOX_DECL asio::awaitable<result<codegen::generated_sources>>
code_session::add_server(std::shared_ptr<code_session> self, detail::server_registration const& wanted) {
    auto const& name = wanted.subject.server;
    auto const registry = self->box_.mcp_registry();
    if (!registry) co_return failure(errc::not_running);
    if (auto replaced = registry->replace(name, wanted.params, wanted.files); !replaced) co_return failure(replaced);
    auto made = co_await self->box_.async_generate_mcp_sources(name, self->options_.executor.working_dir / "mcptools");
    if (!made) {
        self->box_.remove_mcp_server(name);
        co_return made;
    }
    for (auto const& notice : made->notices)
        self->log(log_level::warning, name + "." + notice.tool + ": " + notice.text);
    for (auto const& file : self->box_.unprotected_files()) self->log(log_level::warning, file.text());
    if (!self->options_.kept) co_return made;
    auto const grants = self->box_.grants();
    bool const always = std::ranges::any_of(grants, [&](auto const& each) { return each.what.covers(wanted.subject); });
    if (auto kept = self->options_.kept->keep(name, {*wanted.subject.arguments, always, wanted.files}); !kept)
        self->log(log_level::warning, kept.error().text());
    co_return made;
}

/// Tells a model why a server cannot be used, and the log the rest.
IPYBOX_DECL mcp::call_result code_session::failed_server(error const& why) const {
    log(log_level::warning, why.text());
    return detail::failed_answer(std::string(detail::first_line(why.text())));
}

// --- the beginning

IPYBOX_DECL void code_session::begin() {
    if (std::exchange(has_begun_, true)) return;
    offer_all();
    // If it fails, the first cell says why.
    box_.async_start([](result<void> const&) {});
}

/// Offers the packages of servers to the code: of those that are registered, and of those of earlier runs.
IPYBOX_DECL void code_session::offer_all() {
    if (!servers_.empty()) offer(servers_);
    auto const& kept = options_.kept;
    if (!kept || kept->all().empty()) return;
    auto const source = std::make_shared<detail::kept_server_source>(kept, workspace(), options_.server_timeouts);
    auto const offered = box_.offer_mcp_sources(source, options_.executor.working_dir / "mcptools", hearing());
    if (!offered) log(log_level::warning, offered.error().text());
}

IPYBOX_DECL void code_session::offer(std::vector<std::string> const& servers) {
    auto const offered = box_.offer_mcp_sources(servers, options_.executor.working_dir / "mcptools", hearing());
    if (offered) return;
    for (auto const& server : servers) tell_missing(server, offered.error());
}

/// Hears of packages that cannot be generated.
IPYBOX_DECL executor::package_listener code_session::hearing() {
    return [weak = weak_from_this()](std::string const& server, result<codegen::generated_sources> const& made) {
        if (auto const self = weak.lock(); self && !made) self->tell_missing(server, made.error());
    };
}

IPYBOX_DECL std::filesystem::path const& code_session::workspace() const noexcept {
    return named_ ? named_->workspace : options_.executor.working_dir;
}

IPYBOX_DECL void code_session::offer_package(std::string const& server) {
    if (has_begun_) return offer({server});
    if (std::ranges::find(servers_, server) == servers_.end()) servers_.push_back(server);
}

IPYBOX_DECL void code_session::tell_missing(std::string const& server, error const& why) {
    notes_.add("the tools of the MCP server " + server +
               " are missing: " + std::string(detail::first_line(why.text())));
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

} // namespace ipybox
