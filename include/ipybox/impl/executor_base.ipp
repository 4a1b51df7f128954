#pragma once

#include <ipybox/async/rendezvous.hpp>
#include <ipybox/codegen/generate.hpp>
#include <ipybox/codegen/write_package.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/session/session.hpp>

#include <utility>

namespace ipybox {
namespace detail {

/// Blocks until `submit` completes. Calls from the thread that would have to serve it would wait for ever.
template <class T, class Submit>
result<T> wait_for(session const& s, Submit submit) {
    if (s.where().is_here()) return failure(errc::would_deadlock);
    rendezvous<result<T>> meeting;
    auto const bring = [&meeting](result<T> value) { meeting.bring(std::move(value)); };
    submit(completion<result<T>>(bring, s.where().executor));
    return meeting.wait();
}

} // namespace detail

IPYBOX_DECL executor_base::executor_base(std::shared_ptr<detail::session> session) noexcept
    : session_(std::move(session)) {}
IPYBOX_DECL executor_base::executor_base(executor_base&&) noexcept = default;

IPYBOX_DECL executor_base& executor_base::operator=(executor_base&& other) noexcept {
    if (session_) session_->close();
    session_ = std::move(other.session_);
    return *this;
}

IPYBOX_DECL executor_base::~executor_base() {
    if (session_) session_->close();
}

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

IPYBOX_DECL execution_stream executor_base::stream(std::string code, stream_options options) {
    auto e = std::make_shared<detail::execution>();
    e->code = std::move(code);
    e->options.timeout = options.timeout;
    e->options.on_input = std::move(options.on_input);
    e->chunks = options.chunks;
    e->events = std::make_shared<detail::event_queue>(session_->where().executor, session_->where().is_here);
    execution_stream reader(e->events);
    session_->execute(std::move(e));
    return reader;
}

IPYBOX_DECL result<void> executor_base::register_mcp_server(std::string name, mcp::server_params params) {
    return session_->servers().add(std::move(name), std::move(params));
}

IPYBOX_DECL result<mcp::registered_servers> executor_base::register_mcp_servers(std::filesystem::path const& file) {
    return session_->servers().add_file(file);
}

IPYBOX_DECL result<codegen::generated_sources>
executor_base::generate_mcp_sources(std::string server, std::filesystem::path root_dir,
                                    codegen::generate_options const& options) {
    auto tools = detail::wait_for<std::vector<mcp::tool>>(
        *session_, [&](auto done) { session_->list_tools(server, std::move(done)); });
    if (!tools) return failure(tools);
    auto package = codegen::generate_package(server, *tools, options);
    if (!package) return failure(package);
    return codegen::write_package(root_dir, *package);
}

IPYBOX_DECL result<codegen::generated_sources> executor_base::generate_mcp_sources(std::string server,
                                                                                   std::filesystem::path root_dir) {
    return generate_mcp_sources(std::move(server), std::move(root_dir), codegen::generate_options());
}

IPYBOX_DECL void executor_base::give(grant what) { session_->give(std::move(what)); }

IPYBOX_DECL void executor_base::cancel() { session_->cancel(); }
IPYBOX_DECL kernel_state executor_base::state() const noexcept { return session_->state(); }
IPYBOX_DECL asio::any_io_executor executor_base::get_executor() const { return session_->where().executor; }

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

IPYBOX_DECL asio::any_io_executor executor_base::executor_of(detail::session const& s) { return s.where().executor; }

} // namespace ipybox
