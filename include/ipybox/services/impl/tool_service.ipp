#pragma once

#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/async/with_timeout.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/mcp/server_files.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/services/action_service.hpp>
#include <ipybox/services/generated_places.hpp>
#include <ipybox/services/tool_service.hpp>
#include <ipybox/session/session_handle.hpp>
#include <ipybox/session/session_services.hpp>
#include <ipybox/session/session_settings.hpp>
#include <ipybox/tools/tool_packages.hpp>

#include <optional>
#include <utility>

namespace ipybox::detail {

/// The annotations of tools that are called through a registry. A request may outlive it.
class listed_annotations final : public annotation_source {
  public:
    explicit listed_annotations(std::weak_ptr<mcp::server_registry const> servers) : servers_(std::move(servers)) {}

    [[nodiscard]] std::optional<tool_annotations> annotations(std::string const& server,
                                                              std::string const& tool) const override {
        auto const servers = servers_.lock();
        return servers ? servers->annotations(server, tool) : std::nullopt;
    }

  private:
    std::weak_ptr<mcp::server_registry const> servers_;
};

/// The files that servers are started from are closed to code.
class files_of_servers final : public sandbox_demand {
  public:
    explicit files_of_servers(std::shared_ptr<mcp::server_registry> servers) : servers_(std::move(servers)) {}

    void add_to(supervisor_options& options) const override {
        auto const files = servers_->files();
        append(options.read_only, files.read_only);
        append(options.read_only, files.missing);
        append(options.hidden, files.secret);
    }

    void list(std::vector<protection_wish>& paths) const override {
        for (auto const& [server, files] : servers_->files_by_server())
            for (auto const* those : {&files.read_only, &files.missing})
                for (auto const& path : *those) paths.push_back({path, server});
    }

  private:
    static void append(std::vector<std::filesystem::path>& to, std::vector<std::filesystem::path> const& more) {
        to.insert(to.end(), more.begin(), more.end());
    }

    std::shared_ptr<mcp::server_registry> const servers_;
};

inline std::shared_ptr<mcp::server_registry> servers_of(session_services const& session) {
    auto const& options = session.settings()->options().mcp;
    if (options.registry) return options.registry;
    return std::make_shared<mcp::server_registry>(session.executor(),
                                                  options.options ? *options.options : mcp::registry_options());
}

/// Ends the grants and questions about a server that is removed or replaced: another one may get its name. From any
/// thread.
inline std::shared_ptr<std::function<void(std::string const&)> const>
forgetting_servers(asio::any_io_executor const& executor, std::shared_ptr<approval_service> const& approvals) {
    auto forget = [grants = approvals->gate().forgetting_servers(), weak = std::weak_ptr(approvals),
                   own = std::make_shared<context_bound_executor const>(executor)](std::string const& server) {
        grants(server);
        own->post([weak, server] {
            if (auto const open = weak.lock()) open->gate().cancel_server(server);
        });
    };
    return std::make_shared<std::function<void(std::string const&)> const>(std::move(forget));
}

inline offered_service const tools_are_offered{make_service<tool_service>};

IPYBOX_DECL std::shared_ptr<tool_service> tool_service::make(session_services& session) {
    auto const actions = session.get<action_service>();
    auto const made = std::make_shared<tool_service>(session, actions->approvals());
    actions->attach(std::shared_ptr<tool_actions>(made));
    return made;
}

IPYBOX_DECL tool_service::tool_service(session_services const& session, std::shared_ptr<approval_service> approvals)
    : approvals_(std::move(approvals)), on_server_gone_(forgetting_servers(session.executor(), approvals_)),
      shares_servers_(session.settings()->options().mcp.registry != nullptr), servers_(servers_of(session)),
      functions_(std::make_shared<tool_packages>(session.executor(), servers_)),
      places_(std::make_shared<generated_places>()), packages_(server_packages::make(session.executor(), servers_)) {
    servers_->add_reach(session.settings()->programs()->reach());
    servers_->listeners().on_gone(on_server_gone_);
    approvals_->annotate(stated_annotations(std::make_shared<listed_annotations>(servers_)));
}

IPYBOX_DECL tool_service::~tool_service() = default;

IPYBOX_DECL tool_service::shared_parts tool_service::of(session_handle const& session) {
    shared_parts parts;
    session.with<tool_service>([&parts](auto const& tools) { parts = tools.parts(); });
    return parts;
}

IPYBOX_DECL std::shared_ptr<sandbox_demand const> tool_service::demand() const {
    return std::make_shared<files_of_servers>(servers_);
}

IPYBOX_DECL void tool_service::serve(running_kernel const& kernel) { servers_->code_runs(kernel.reach); }

IPYBOX_DECL asio::awaitable<void> tool_service::stop() {
    if (!shares_servers_) co_await servers_->stop();
}

IPYBOX_DECL asio::awaitable<void> tool_service::end() {
    if (shares_servers_) co_return;
    // Their own grace is the user's, and may be long.
    co_await end_within(servers_->stop(), std::chrono::seconds(1));
    servers_->kill();
}

IPYBOX_DECL void tool_service::abandon() {
    functions_->end(std::chrono::milliseconds(0));
    if (!shares_servers_) servers_->kill();
}

IPYBOX_DECL void tool_service::wait_for_functions(std::chrono::milliseconds bound) { functions_->end(bound); }

IPYBOX_DECL result<void> tool_service::may_wait() const {
    if (!functions_->runs_here()) return {};
    return failure(errc::would_deadlock, "a function of a host tool cannot wait for code of the executor that calls "
                                         "it: that waits for the function. Call an async_ operation, or another "
                                         "executor");
}

IPYBOX_DECL void tool_service::offer(std::shared_ptr<server_source> source, generated_place place,
                                     server_packages::listener heard) {
    auto const approve = [weak = weak_from_this()](approval_subject subject, server_source::consent before) {
        return approve_server(weak.lock(), std::move(subject), before);
    };
    packages_->offer(std::move(source), approve, std::move(place), std::move(heard));
}

/// Consent that was given for always, in an earlier run, is a grant of this one: rules go before it.
IPYBOX_DECL asio::awaitable<verdict> tool_service::approve_server(std::shared_ptr<tool_service> self,
                                                                  approval_subject subject,
                                                                  server_source::consent before) {
    if (!self) co_return verdict{decision::reject("the executor has ended"), error::decider::cancellation};
    auto& approvals = *self->approvals_;
    if (before == server_source::consent::standing) approvals.gate().add_grant(grant::exactly(subject));
    auto said = co_await approvals.approve(subject);
    if (said.accepted()) approvals.record(subject.id, action_outcome());
    co_return said;
}

IPYBOX_DECL asio::awaitable<result<void>> tool_service::find_server(std::string server) {
    return server_packages::find_server(packages_, std::move(server));
}

IPYBOX_DECL asio::awaitable<result<mcp::call_result>>
tool_service::call(approval_subject const& subject, mcp::raw_json arguments, mcp::call_options options) {
    return servers_->call_listed(subject.server, subject.tool, std::move(arguments), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<mcp::raw_json>> tool_service::ask(std::string const& server,
                                                                     mcp::server_query query) {
    return servers_->ask(server, std::move(query));
}

IPYBOX_DECL asio::awaitable<package_states> tool_service::packages(package_request wanted) {
    return server_packages::ready(packages_, std::move(wanted));
}

} // namespace ipybox::detail
