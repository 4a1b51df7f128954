#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/session/acting_cell.hpp>
#include <ipybox/session/session_services.hpp>
#include <ipybox/session/session_settings.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace ipybox::detail {

// --- the demands ---------------------------------------------------------------------------------------------------------

IPYBOX_DECL void sandbox_demands::add(std::shared_ptr<sandbox_demand const> demand) {
    std::scoped_lock const lock(mutex_);
    demands_.push_back(std::move(demand));
}

/// They may call functions of the application, and so do nothing under a lock.
IPYBOX_DECL std::vector<std::shared_ptr<sandbox_demand const>> sandbox_demands::all() const {
    std::scoped_lock const lock(mutex_);
    return demands_;
}

IPYBOX_DECL void sandbox_demands::add_to(supervisor_options& options) const {
    for (auto const& demand : all()) demand->add_to(options);
}

IPYBOX_DECL void sandbox_demands::list(std::vector<protection_wish>& paths) const {
    for (auto const& demand : all()) demand->list(paths);
}

// --- the services of a program -------------------------------------------------------------------------------------------

/// Never destroyed: executors may be made until the end of the program.
struct service_makers {
    std::mutex mutex;
    std::vector<offered_service::maker> list;
};

inline service_makers& makers_of_program() {
    static auto& makers = never_destroyed<service_makers>();
    return makers;
}

IPYBOX_DECL offered_service::offered_service(maker make) : make_(make) {
    auto& makers = makers_of_program();
    std::scoped_lock const lock(makers.mutex);
    makers.list.push_back(make_);
}

/// A library that is unloaded takes its services with it.
IPYBOX_DECL offered_service::~offered_service() {
    auto& makers = makers_of_program();
    std::scoped_lock const lock(makers.mutex);
    auto const own = std::ranges::find(makers.list, make_);
    if (own != makers.list.end()) makers.list.erase(own);
}

IPYBOX_DECL std::vector<offered_service::maker> offered_service::all() {
    auto& makers = makers_of_program();
    std::scoped_lock const lock(makers.mutex);
    return makers.list;
}

// --- those of a session --------------------------------------------------------------------------------------------------

IPYBOX_DECL
session_services::session_services(asio::any_io_executor executor, std::shared_ptr<session_settings const> settings,
                                   std::shared_ptr<any_approval const> policy, std::shared_ptr<seen_messages> seen)
    : executor_(std::move(executor)), settings_(std::move(settings)), policy_(std::move(policy)),
      seen_(std::move(seen)) {}

IPYBOX_DECL void session_services::make_offered() {
    for (auto const make : offered_service::all()) make(*this);
}

IPYBOX_DECL void session_services::add(std::shared_ptr<session_service> made) {
    if (auto demand = made->demand()) demands_->add(std::move(demand));
    if (abandoned_) made->abandon();
    services_.push_back(std::move(made));
}

IPYBOX_DECL session_services::list session_services::all() const {
    std::scoped_lock const lock(mutex_);
    return services_;
}

IPYBOX_DECL bool session_services::offers(session_service::feature what) const {
    auto const services = all();
    return std::ranges::any_of(services, [what](auto const& service) { return service->offers(what); });
}

inline error missing(std::string_view what, std::string_view header) {
    auto text = std::string(what).append(" needs <ipybox/").append(header);
    return error(errc::invalid_argument, text.append(">: include it in a source file of the program"));
}

/// An option that does nothing without a service, and the header that brings that along.
struct option_of_service {
    bool is_set;
    session_service::feature needs;
    std::string_view name;
    std::string_view header;
};

inline std::vector<option_of_service> options_of_services(executor_options const& options) {
    using enum session_service::feature;
    auto const& approval = options.approval;
    return {{approval.shell_cmds, approvals, "approval.shell_cmds", "approval.hpp"},
            {approval.require_shell_escape, approvals, "approval.require_shell_escape", "approval.hpp"},
            {approval.calls_per_cell.has_value(), approvals, "approval.calls_per_cell", "approval.hpp"},
            {!approval.rules.empty(), approvals, "approval.rules", "approval.hpp"},
            {approval.audit != nullptr, approvals, "approval.audit", "approval.hpp"},
            {options.kernel.packages != nullptr, packages, "kernel.packages", "packages.hpp"},
            {options.mcp.options != nullptr, tools, "mcp.options", "mcp.hpp"},
            {options.mcp.registry != nullptr, tools, "mcp.registry", "mcp.hpp"}};
}

IPYBOX_DECL result<void> session_services::do_what_options_say() const {
    if (*policy_ && !offers(session_service::feature::approvals))
        return failure(missing("an approval policy", "approval.hpp"));
    for (auto const& option : options_of_services(settings_->options()))
        if (option.is_set && !offers(option.needs)) return failure(missing(option.name, option.header));
    return {};
}

IPYBOX_DECL result<void> session_services::can_serve(supervised_process const& kernel) const {
    using enum session_service::feature;
    if (kernel.network() && !offers(hosts)) return failure(missing("a sandbox that opens hosts", "sandbox.hpp"));
    if (kernel.packages() && !offers(packages)) return failure(missing("kernel.packages", "packages.hpp"));
    return {};
}

IPYBOX_DECL result<void> session_services::prepare(kernel_launch& launch) {
    for (auto const& service : all())
        if (auto prepared = service->prepare(launch); !prepared) return prepared;
    return {};
}

IPYBOX_DECL void session_services::serve(running_kernel const& kernel) {
    for (auto const& service : all()) service->serve(kernel);
}

IPYBOX_DECL void session_services::close() {
    for (auto const& service : all()) service->close();
}

IPYBOX_DECL void session_services::begin_cell(std::shared_ptr<acting_cell const> const& cell) {
    for (auto const& service : all()) service->begin_cell(cell);
}

IPYBOX_DECL void session_services::end_cell() {
    for (auto const& service : all()) service->end_cell();
}

IPYBOX_DECL asio::awaitable<void> session_services::stop(std::shared_ptr<session_services> self) {
    for (auto const& service : self->all()) co_await service->stop();
}

IPYBOX_DECL asio::awaitable<void> session_services::end(std::shared_ptr<session_services> self) {
    for (auto const& service : self->all()) co_await service->end();
}

IPYBOX_DECL void session_services::abandon() {
    {
        std::scoped_lock const lock(mutex_);
        abandoned_ = true;
    }
    for (auto const& service : all()) service->abandon();
}

IPYBOX_DECL void session_services::wait_for_functions(std::chrono::milliseconds bound) {
    for (auto const& service : all()) service->wait_for_functions(bound);
}

IPYBOX_DECL result<void> session_services::may_wait() const {
    for (auto const& service : all())
        if (auto may = service->may_wait(); !may) return may;
    return {};
}

} // namespace ipybox::detail
