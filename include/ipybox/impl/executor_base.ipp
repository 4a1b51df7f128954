#pragma once

#include <ipybox/codegen/generate.hpp>
#include <ipybox/codegen/root_index.hpp>
#include <ipybox/execution_stream.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/gate/approval_gate.hpp>
#include <ipybox/impl/wait_for.hpp>
#include <ipybox/mcp/server_file.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/grants.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/job_core.hpp>
#include <ipybox/session/server_packages.hpp>
#include <ipybox/session/session_handle.hpp>
#include <ipybox/session/value_request.hpp>
#include <ipybox/tools/host_tool.hpp>
#include <ipybox/tools/host_tools.hpp>
#include <ipybox/tools/tool_packages.hpp>

#include <memory>
#include <string>
#include <utility>

namespace ipybox {

IPYBOX_DECL executor_base::executor_base(std::shared_ptr<detail::session_handle> session) noexcept
    : session_(std::move(session)) {}

IPYBOX_DECL executor_base::executor_base(executor_base&& other) noexcept
    : session_(std::exchange(other.session_, detail::session_handle::closed())) {}

IPYBOX_DECL executor_base& executor_base::operator=(executor_base&& other) noexcept {
    if (this == &other) return *this;
    auto const old = std::exchange(session_, std::exchange(other.session_, detail::session_handle::closed()));
    old->close();
    return *this;
}

IPYBOX_DECL executor_base::~executor_base() { session_->close(); }

IPYBOX_DECL result<void> executor_base::start() {
    return detail::wait_for<void>(*session_, [this](auto done) { session_->start(std::move(done)); });
}

IPYBOX_DECL result<void> executor_base::interrupt() {
    return detail::wait_for<void>(*session_, [this](auto done) { session_->interrupt(std::move(done)); });
}

IPYBOX_DECL result<void> executor_base::reset() {
    return detail::wait_for<void>(*session_, [this](auto done) { session_->reset(std::move(done)); });
}

IPYBOX_DECL result<void> executor_base::stop() {
    return detail::wait_for<void>(*session_, [this](auto done) { session_->stop(std::move(done)); });
}

IPYBOX_DECL result<execution_result> executor_base::execute(std::string code, execute_options options) {
    return detail::wait_for<execution_result>(
        *session_, [&](auto done) { submit_execute(session_, std::move(code), std::move(options), std::move(done)); });
}

IPYBOX_DECL execution_stream executor_base::stream(std::string code, execute_options options) {
    auto e = std::make_shared<detail::execution>();
    e->code = std::move(code);
    e->options.timeout = options.timeout;
    e->options.on_input = std::move(options.on_input);
    e->options.title = std::move(options.title);
    e->options.approval = std::move(options.approval);
    e->chunks = options.chunks;
    return read_events_of(std::move(e));
}

IPYBOX_DECL job executor_base::submit(std::string code, execute_options options) {
    auto const core = std::make_shared<detail::job_core>(std::to_string(session_->next_job()), session_);
    auto const ended = [core](result<execution_result> outcome) {
        auto waits = core->end(std::move(outcome));
        if (auto const session = core->session()) session->forget(std::move(waits));
    };
    auto e = std::make_shared<detail::execution>();
    e->code = std::move(code);
    e->options = std::move(options);
    e->done = detail::completion<result<execution_result>>(detail::called_in_place{ended});
    e->job = core;
    core->stands_for(e);
    session_->execute(std::move(e));
    return job(core);
}

IPYBOX_DECL result<json_value> executor_base::get(std::string name) {
    return detail::wait_for<json_value>(*session_,
                                        [&](auto done) { submit_get(session_, std::move(name), std::move(done)); });
}

IPYBOX_DECL result<void> executor_base::put(std::string name, nlohmann::ordered_json const& value) {
    return put_text(std::move(name), json_of(value));
}

IPYBOX_DECL result<void> executor_base::put_text(std::string name, result<std::string> json) {
    return detail::wait_for<void>(
        *session_, [&](auto done) { submit_put(session_, std::move(name), std::move(json), std::move(done)); });
}

IPYBOX_DECL result<std::string> executor_base::json_of(nlohmann::ordered_json const& value) {
    return detail::text_of(value);
}

IPYBOX_DECL result<std::string> executor_base::json_of(nlohmann::json const& value) { return detail::text_of(value); }

IPYBOX_DECL void executor_base::submit_get(session_ptr const& s, std::string name,
                                           detail::completion<result<json_value>> done) {
    auto expression = detail::get_expression(name);
    if (!expression) return done(failure(expression));
    s->ask<json_value>(std::move(*expression), std::move(done));
}

IPYBOX_DECL void executor_base::submit_put(session_ptr const& s, std::string name, result<std::string> json,
                                           detail::completion<result<void>> done) {
    if (!json) return done(failure(json));
    auto expression = detail::put_expression(name, *json);
    if (!expression) return done(failure(expression));
    s->ask<void>(std::move(*expression), std::move(done));
}

IPYBOX_DECL execution_stream executor_base::finish() {
    auto e = std::make_shared<detail::execution>();
    e->finishes = true;
    return read_events_of(std::move(e));
}

/// Submits an execution whose outcome is the last event of a stream.
IPYBOX_DECL execution_stream executor_base::read_events_of(std::shared_ptr<detail::execution> e) {
    auto const may_block = [weak = std::weak_ptr(session_)]() -> result<void> {
        auto const session = weak.lock();
        if (!session) return {};
        if (auto turn = session->may_wait_for_turn(); !turn) return turn;
        return session->may_block();
    };
    e->events = std::make_shared<detail::event_queue>(session_, may_block);
    execution_stream reader(e->events);
    session_->execute(std::move(e));
    return reader;
}

IPYBOX_DECL result<void> executor_base::register_mcp_server(std::string name, mcp::server_params params) {
    result<void> added = failure(errc::not_running);
    session_->with_servers([&](auto& servers) { added = servers.add(std::move(name), std::move(params)); });
    return added;
}

IPYBOX_DECL result<mcp::registered_servers> executor_base::register_mcp_servers(std::filesystem::path const& file,
                                                                                mcp::server_timeouts const& timeouts) {
    // Read before the session is asked: a file may be a pipe, or far away, and other calls go on meanwhile.
    auto read = mcp::detail::read_server_file(file);
    if (!read) return failure(read);
    result<mcp::registered_servers> added = failure(errc::not_running);
    session_->with_servers([&](auto& servers) { added = servers.add_from(file, std::move(*read), timeouts); });
    return added;
}

IPYBOX_DECL result<void> executor_base::replace_mcp_server(std::string name, mcp::server_params params) {
    result<void> replaced = failure(errc::not_running);
    session_->with_servers([&](auto& servers) { replaced = servers.replace(std::move(name), std::move(params)); });
    return replaced;
}

IPYBOX_DECL bool executor_base::remove_mcp_server(std::string const& name) {
    bool removed = false;
    session_->with_servers([&](auto& servers) { removed = servers.remove(name); });
    return removed;
}

IPYBOX_DECL std::vector<std::string> executor_base::mcp_servers() const {
    std::vector<std::string> names;
    session_->with_servers([&](auto& servers) { names = servers.names(); });
    return names;
}

IPYBOX_DECL result<void> executor_base::add_tool(host_tool tool, std::string const& package) {
    auto const tools = session_->tools();
    if (!tools) return failure(errc::not_running);
    std::vector<host_tool> list;
    list.push_back(std::move(tool));
    if (auto added = tools->add(package, std::move(list)); !added) return added;
    return write_again(package);
}

IPYBOX_DECL result<void> executor_base::add_tools(host_tools const& list) {
    auto const tools = session_->tools();
    if (!tools) return failure(errc::not_running);
    if (auto added = tools->add(list.package(), list.list()); !added) return added;
    return write_again(list.package());
}

IPYBOX_DECL result<bool> executor_base::remove_tool(std::string const& name, std::string const& package) {
    auto const tools = session_->tools();
    if (!tools || !tools->remove(package, name)) return false;
    if (auto written = write_again(package); !written) return failure(written);
    return true;
}

IPYBOX_DECL bool executor_base::remove_tools(std::string const& package) {
    auto const tools = session_->tools();
    return tools && tools->remove(package);
}

IPYBOX_DECL std::vector<std::string> executor_base::tools() const {
    auto const tools = session_->tools();
    return tools ? tools->names() : std::vector<std::string>();
}

IPYBOX_DECL std::shared_ptr<mcp::server_registry> executor_base::mcp_registry() const { return session_->servers(); }

IPYBOX_DECL std::vector<detail::unprotected_file> executor_base::unprotected_files() const {
    return session_->unprotected_files();
}

namespace detail {

/// Adds the instructions of a server that has been asked for its tools: it has started.
inline void add_instructions(codegen::generate_options& options, std::string const& server,
                             session_handle const& session) {
    auto const servers = session.servers();
    if (options.instructions.empty() && servers) options.instructions = servers->instructions(server);
}

/// Code in the kernel may have made links in its working directory.
inline codegen::generate_options options_for(std::string const& package, codegen::generate_options options,
                                             session_handle const& session) {
    if (options.code_dir.empty()) options.code_dir = session.code_dir();
    auto const tools = session.tools();
    if (options.about.empty() && tools && tools->list(package)) options.about = "Tools of the application.";
    return options;
}

} // namespace detail

IPYBOX_DECL result<codegen::generated_sources>
executor_base::generate_mcp_sources(std::string server, std::filesystem::path root_dir,
                                    codegen::generate_options const& options) {
    auto tools = detail::wait_for<std::vector<mcp::tool>>(
        *session_, [&](auto done) { session_->list_tools(server, std::move(done)); });
    if (!tools) return failure(tools.error());
    auto how = detail::options_for(server, options, *session_);
    detail::add_instructions(how, server, *session_);
    auto written = codegen::generate(server, *tools, root_dir, how);
    if (written) session_->remember_place(server, {root_dir, std::make_shared<codegen::generate_options const>(how)});
    return written;
}

/// Writes what `import mcptools` takes, and offers packages there.
IPYBOX_DECL result<void> executor_base::offer_in(std::filesystem::path root_dir, offer made) {
    codegen::generate_options options;
    options.code_dir = session_->code_dir();
    if (auto written = codegen::detail::write_index(root_dir, options); !written) return written;
    std::error_code gone; // the current directory may be another one by then
    if (auto whole = std::filesystem::absolute(root_dir, gone); !gone) root_dir = std::move(whole);
    detail::generated_place const place{std::move(root_dir),
                                        std::make_shared<codegen::generate_options const>(std::move(options))};
    auto const work = [place, made = std::move(made)](detail::session& session) { made(session, place); };
    return session_->post(work) ? result<void>() : failure(errc::not_running);
}

IPYBOX_DECL result<void> executor_base::offer_mcp_sources(std::vector<std::string> servers,
                                                          std::filesystem::path root_dir, package_listener heard) {
    return offer_in(std::move(root_dir), [servers = std::move(servers), heard = std::move(heard)](
                                             detail::session& session, detail::generated_place const& place) {
        for (auto const& server : servers) session.packages().offer(server, place, heard);
    });
}

IPYBOX_DECL result<void> executor_base::offer_mcp_sources(std::shared_ptr<detail::server_source> source,
                                                          std::filesystem::path root_dir, package_listener heard) {
    return offer_in(std::move(root_dir), [source = std::move(source), heard = std::move(heard)](
                                             detail::session& session, detail::generated_place const& place) {
        session.offer(source, place, heard);
    });
}

IPYBOX_DECL void executor_base::begin_mcp_sources() {
    session_->post([](detail::session& session) { session.packages().begin_all(); });
}

IPYBOX_DECL void executor_base::submit_generation(session_ptr const& s, std::string server,
                                                  std::filesystem::path root_dir, generate_how how,
                                                  detail::completion<result<codegen::generated_sources>> done) {
    std::error_code gone; // it is made on another thread, by when another directory may be the current one
    if (auto whole = std::filesystem::absolute(root_dir, gone); !gone) root_dir = std::move(whole);
    auto options = detail::options_for(server, how ? *how : codegen::generate_options(), *s);
    auto const make = [server, root_dir = std::move(root_dir), options = std::move(options),
                       weak = std::weak_ptr(s)](std::vector<mcp::tool> const& tools) {
        auto for_this = options;
        if (auto const session = weak.lock()) detail::add_instructions(for_this, server, *session);
        auto written = codegen::generate(server, tools, root_dir, for_this);
        auto const session = weak.lock();
        if (written && session)
            session->remember_place(server, {root_dir, std::make_shared<codegen::generate_options const>(for_this)});
        return written;
    };
    s->make_of_tools<codegen::generated_sources>(server, make, std::move(done));
}

IPYBOX_DECL result<codegen::generated_sources> executor_base::generate_mcp_sources(std::string server,
                                                                                   std::filesystem::path root_dir) {
    return generate_mcp_sources(std::move(server), std::move(root_dir), codegen::generate_options());
}

/// Writes a package of host tools wherever it was generated before.
IPYBOX_DECL result<void> executor_base::write_again(std::string const& package) {
    auto const tools = session_->tools();
    for (auto const& place : session_->places_of(package)) {
        auto const list = tools ? tools->list(package) : std::nullopt;
        if (!list) break;
        auto const written = codegen::generate(package, *list, place.root_dir, *place.options);
        if (!written) return failure(written.error());
    }
    return {};
}

IPYBOX_DECL result<detail::installation> executor_base::install_package(std::vector<std::string> words) {
    return detail::wait_for<installation>(*session_,
                                          [&](auto done) { session_->install(std::move(words), std::move(done)); });
}

IPYBOX_DECL result<detail::installation> executor_base::install_package(std::string name) {
    return install_package(std::vector<std::string>{std::move(name)});
}

IPYBOX_DECL void executor_base::submit_installation(session_ptr const& s, std::vector<std::string> words,
                                                    detail::completion<result<installation>> done) {
    s->install(std::move(words), std::move(done));
}

IPYBOX_DECL void executor_base::submit_approval(session_ptr const& s, approval_subject subject,
                                                detail::completion<result<std::uint64_t>> done) {
    s->approve(std::move(subject), std::move(done));
}

IPYBOX_DECL void executor_base::record_outcome(std::uint64_t id, detail::action_outcome how) {
    session_->record(id, std::move(how));
}

IPYBOX_DECL std::uint64_t executor_base::add_grant(grant what) {
    std::uint64_t number = 0;
    session_->with_gate([&](auto& gate) { number = gate.add_grant(std::move(what)); });
    return number;
}

IPYBOX_DECL bool executor_base::revoke_grant(std::uint64_t number) {
    bool revoked = false;
    session_->with_gate([&](auto& gate) { revoked = gate.revoke_grant(number); });
    return revoked;
}

IPYBOX_DECL std::vector<grant::active> executor_base::grants() const {
    std::vector<grant::active> list;
    session_->with_gate([&](auto& gate) { list = gate.active_grants(); });
    return list;
}

IPYBOX_DECL void executor_base::cancel() { session_->cancel(); }
IPYBOX_DECL detail::kernel_state executor_base::state() const noexcept { return session_->state(); }
IPYBOX_DECL asio::any_io_executor executor_base::get_executor() const { return session_->executor(); }

IPYBOX_DECL asio::awaitable<result<execution_result>> executor_base::async_execute(std::string code) {
    return async_execute(std::move(code), execute_options(), asio::use_awaitable_t<>());
}

IPYBOX_DECL void executor_base::submit_start(session_ptr const& s, detail::completion<result<void>> done) {
    s->start(std::move(done));
}
IPYBOX_DECL void executor_base::submit_interrupt(session_ptr const& s, detail::completion<result<void>> done) {
    s->interrupt(std::move(done));
}
IPYBOX_DECL void executor_base::submit_reset(session_ptr const& s, detail::completion<result<void>> done) {
    s->reset(std::move(done));
}
IPYBOX_DECL void executor_base::submit_stop(session_ptr const& s, detail::completion<result<void>> done) {
    s->stop(std::move(done));
}

IPYBOX_DECL void executor_base::submit_execute(session_ptr const& s, std::string code, execute_options options,
                                               detail::completion<result<execution_result>> done) {
    auto e = std::make_shared<detail::execution>();
    e->code = std::move(code);
    e->options = std::move(options);
    e->done = std::move(done);
    s->execute(std::move(e));
}

IPYBOX_DECL detail::executor_lender const& executor_base::lender_of(detail::session_handle const& s) { return s; }

} // namespace ipybox
