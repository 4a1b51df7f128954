#pragma once

#include <ipybox/action/action_router.hpp>
#include <ipybox/async/with_timeout.hpp>
#include <ipybox/kernel/kernel_options.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/network/network_proxy.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/packages/package_installation.hpp>
#include <ipybox/packages/package_output.hpp>
#include <ipybox/session/kernel_actions.hpp>
#include <ipybox/tools/tool_packages.hpp>

#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <fcntl.h>

#include <chrono>
#include <csignal>
#include <utility>

namespace ipybox::detail {

/// How long a question waits for what was printed before it. It has been sent before, and only has to be read.
inline constexpr std::chrono::seconds time_for_output{1};

/// A program that the supervisor runs.
class supervised_program final : public running_program {
  public:
    explicit supervised_program(supervised_process process) : process_(std::move(process)) {}

    [[nodiscard]] asio::awaitable<exit_status> exited() override { return process_.exited(); }
    [[nodiscard]] asio::awaitable<result<void>> signal(int number) override { return process_.signal(number); }

  private:
    supervised_process process_;
};

/// pip, which is no process of the supervisor's.
class installing_program final : public running_program {
  public:
    explicit installing_program(std::shared_ptr<package_installation> installation)
        : installation_(std::move(installation)) {}
    installing_program(installing_program const&) = delete;
    installing_program& operator=(installing_program const&) = delete;
    ~installing_program() override { installation_->end(); }

    [[nodiscard]] asio::awaitable<exit_status> exited() override { return installation_->ended(); }

    /// Each signal that a kernel can have sent ends it.
    [[nodiscard]] asio::awaitable<result<void>> signal(int number) override {
        if (number == SIGKILL)
            installation_->kill();
        else
            installation_->end();
        co_return result<void>();
    }

  private:
    std::shared_ptr<package_installation> installation_;
};

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

/// The same with what pip said.
inline error with_output(error const& why, std::string const& output) {
    auto text = why.text();
    if (!output.empty()) text += "\npip said:\n" + output;
    return error(static_cast<errc>(why.code().value()), std::move(text));
}

inline error no_package_layer() {
    return error(errc::invalid_argument, "the kernel has no layer of packages: set kernel.packages of the executor, or "
                                         "of its runtime (--packages DIR)");
}

/// Whether it is pip that the host runs, outside of the kernel's sandbox.
inline bool is_installation(program_run const& wanted) {
    return wanted.kind == approval_subject::action::package && wanted.argv.size() > 1 && wanted.argv[0] == "pip" &&
           wanted.argv[1] == "install";
}

IPYBOX_DECL kernel_actions::kernel_actions(asio::any_io_executor executor, any_approval policy,
                                           approval_settings settings, std::shared_ptr<seen_messages> seen,
                                           std::shared_ptr<os::host_programs const> programs,
                                           std::shared_ptr<mcp::server_registry> shared,
                                           std::shared_ptr<mcp::registry_options const> const& servers)
    : executor_(executor), policy_(std::move(policy)), seen_(std::move(seen)), gate_(std::move(settings),
                                                                                     [this](std::size_t count) {
                                                                                         if (cell_.waiting)
                                                                                             cell_.waiting(count);
                                                                                     }),
      on_server_gone_(std::make_shared<std::function<void(std::string const&)> const>(gate_.forgetting_servers())),
      programs_(std::move(programs)), shares_servers_(shared != nullptr),
      servers_(shared ? std::move(shared)
                      : std::make_shared<mcp::server_registry>(executor, servers ? *servers : mcp::registry_options())),
      tools_(std::make_shared<tool_packages>(executor, servers_)), packages_(server_packages::make(executor, servers_)),
      annotations_(std::make_shared<listed_annotations>(servers_)) {
    servers_->add_reach(programs_->reach());
    servers_->listeners().on_gone(on_server_gone_);
}

IPYBOX_DECL kernel_actions::~kernel_actions() = default;

IPYBOX_DECL void kernel_actions::abandon() {
    gate_.abandon();
    {
        std::scoped_lock const lock(installations_mutex_);
        for (auto const& weak : installations_)
            if (auto const installation = weak.lock()) installation->kill();
    }
    tools_->end(std::chrono::milliseconds(0));
    if (!shares_servers_) servers_->kill();
}

IPYBOX_DECL asio::awaitable<void> kernel_actions::stop_servers() {
    if (!shares_servers_) co_await servers_->stop();
}

inline asio::awaitable<bool> done_behind(asio::awaitable<void> work) {
    co_await std::move(work);
    co_return true;
}

IPYBOX_DECL asio::awaitable<void> kernel_actions::end_servers() {
    if (shares_servers_) co_return;
    // Their own grace is the user's, and may be long.
    (void)co_await with_timeout(done_behind(servers_->stop()), std::chrono::seconds(1));
    servers_->kill();
}

IPYBOX_DECL result<std::shared_ptr<os::unique_fd const>> kernel_actions::open() {
    close();
    auto pair = os::make_stream_pair(4 << 20);
    if (!pair) return failure(pair);
    channel_ = std::move(pair->ours);
    return std::make_shared<os::unique_fd const>(std::move(pair->theirs));
}

IPYBOX_DECL void kernel_actions::serve(supervised_process kernel) {
    if (!kernel || !channel_) return channel_.reset();
    kernel_ = std::move(kernel);
    router_ = std::make_shared<action_router>(executor_, std::move(channel_), weak_from_this());
    router_->start();
    serve_hosts();
}

IPYBOX_DECL void kernel_actions::serve_hosts() {
    auto listener = kernel_.take_listener();
    auto const config = kernel_.network();
    if (!listener || !config) return;
    std::shared_ptr<sandbox_config::network_access const> network(config, &config->network);
    proxy_ = std::make_shared<network_proxy>(executor_, std::move(listener), std::move(network), weak_from_this());
    proxy_->start();
}

IPYBOX_DECL void kernel_actions::close() {
    gate_.cancel_all();
    if (auto const router = std::exchange(router_, nullptr)) router->close();
    if (auto const proxy = std::exchange(proxy_, nullptr)) proxy->close();
    end_installations();
    channel_.reset();
    kernel_ = supervised_process();
}

IPYBOX_DECL void kernel_actions::begin_cell(acting_cell cell) { cell_ = std::move(cell); }

IPYBOX_DECL void kernel_actions::end_cell() {
    gate_.cancel_cell(cell_.id);
    if (router_) router_->end_calls();
    cell_ = acting_cell();
}

/// The kernel's statements about its cell are not trusted: it could get a fresh budget with each request.
IPYBOX_DECL void kernel_actions::name_asker(approval_subject& subject) const {
    subject.id = approval_gate::fresh_id();
    subject.cell_id = cell_.id;
    subject.code = cell_.code;
}

IPYBOX_DECL asio::awaitable<verdict> kernel_actions::approve(approval_subject& subject, std::uint64_t after) {
    name_asker(subject);
    return decide(subject, cell_.approval ? *cell_.approval : policy_, after);
}

IPYBOX_DECL asio::awaitable<verdict> kernel_actions::decide(approval_subject& subject, any_approval policy,
                                                            std::uint64_t after) {
    if (!subject.argv.empty()) subject.interpreter = kernel_.interpreter();
    if (subject.kind == approval_subject::action::tool) subject.annotations = annotations_;
    if (!policy && cell_.events) {
        auto const ask_reader = [events = cell_.events](approval_request request) { events->push(std::move(request)); };
        policy = any_approval(ask_reader);
    }
    approval_gate::preparation output_is_seen;
    if (!seen_->has(after))
        output_is_seen = [seen = seen_, after] { return seen_messages::reach(seen, after, time_for_output); };
    return gate_.decide(subject, std::move(policy), std::move(output_is_seen));
}

IPYBOX_DECL void kernel_actions::offer(std::shared_ptr<server_source> source, generated_place place,
                                       server_packages::listener heard) {
    auto const approve = [weak = weak_from_this()](approval_subject subject, server_source::consent before) {
        return approve_server(weak.lock(), std::move(subject), before);
    };
    packages_->offer(std::move(source), approve, std::move(place), std::move(heard));
}

/// Consent that was given for always, in an earlier run, is a grant of this one: rules go before it.
IPYBOX_DECL asio::awaitable<verdict> kernel_actions::approve_server(std::shared_ptr<kernel_actions> self,
                                                                    approval_subject subject,
                                                                    server_source::consent before) {
    constexpr std::uint64_t after_nothing = 0;
    if (!self) co_return verdict{decision::reject("the executor has ended"), error::decider::cancellation};
    if (before == server_source::consent::standing) self->gate_.add_grant(grant::exactly(subject));
    auto said = co_await self->approve(subject, after_nothing);
    if (said.accepted()) self->ended(subject, action_outcome());
    co_return said;
}

IPYBOX_DECL asio::awaitable<result<void>> kernel_actions::find_server(std::string server) {
    return server_packages::find_server(packages_, std::move(server));
}

IPYBOX_DECL void kernel_actions::ended(approval_subject const& subject, action_outcome const& how) {
    // A finished action cannot be undone: a log that cannot be written rejects the next action.
    (void)gate_.finished(subject.id, how);
}

IPYBOX_DECL asio::awaitable<result<mcp::call_result>>
kernel_actions::call(approval_subject const& subject, mcp::raw_json arguments, mcp::call_options options) {
    return servers_->call_listed(subject.server, subject.tool, std::move(arguments), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<mcp::raw_json>> kernel_actions::ask(std::string const& server,
                                                                       mcp::server_query query) {
    return servers_->ask(server, std::move(query));
}

IPYBOX_DECL asio::awaitable<result<std::shared_ptr<running_program>>> kernel_actions::run(program_run const& wanted,
                                                                                          program_streams streams) {
    auto const kernel = kernel_;
    if (!kernel) co_return failure(errc::not_running, "the kernel is gone");
    if (kernel.packages() && is_installation(wanted)) {
        if (auto turn = co_await take_turn(shared_from_this()); !turn) co_return failure(turn);
        auto const begun = begin_installation(std::span(wanted.argv).subspan(2), std::move(streams));
        if (!begun) co_return failure(begun.error());
        co_return std::make_shared<installing_program>(*begun);
    }
    program_launch launch{wanted.argv, wanted.cwd, wanted.env};
    auto process = co_await kernel.run(std::move(launch), std::move(streams.standard_input),
                                       std::move(streams.standard_output), std::move(streams.standard_error));
    if (!process) co_return failure(process);
    co_return std::make_shared<supervised_program>(std::move(*process));
}

IPYBOX_DECL asio::awaitable<package_states> kernel_actions::packages(package_request wanted) {
    return server_packages::ready(packages_, std::move(wanted));
}

IPYBOX_DECL result<kernel_actions::installation_ptr>
kernel_actions::begin_installation(std::span<std::string const> words, program_streams streams) {
    auto const layer = kernel_.packages();
    if (!layer) return failure(no_package_layer());
    auto const order = read_package_order(words);
    if (!order) return failure(order.error());
    installation_streams theirs{std::move(streams.standard_output), std::move(streams.standard_error)};
    auto begun = package_installation::start(executor_, programs_, layer, kernel_.interpreter(), *order,
                                             std::move(theirs), weak_from_this());
    if (begun) keep_installation(*begun);
    return begun;
}

/// Waits until no other installation of this session is under way: pip runs beside the kernel, whose limits do not
/// count there.
IPYBOX_DECL asio::awaitable<result<void>> kernel_actions::take_turn(std::shared_ptr<kernel_actions> self) {
    auto const asker = self->router_;
    while (auto const before = self->running_installation()) {
        (void)co_await before->ended();
        auto const state = co_await asio::this_coro::cancellation_state;
        if (self->router_ != asker || state.cancelled() != asio::cancellation_type::none)
            co_return failure(errc::cancelled, "the installation was cancelled");
    }
    co_return result<void>();
}

IPYBOX_DECL kernel_actions::installation_ptr kernel_actions::running_installation() {
    std::scoped_lock const lock(installations_mutex_);
    for (auto const& weak : installations_)
        if (auto installation = weak.lock(); installation && !installation->has_ended()) return installation;
    return nullptr;
}

IPYBOX_DECL void kernel_actions::keep_installation(installation_ptr const& begun) {
    std::scoped_lock const lock(installations_mutex_);
    std::erase_if(installations_, [](auto const& other) { return other.expired(); });
    installations_.push_back(begun);
}

IPYBOX_DECL void kernel_actions::end_installations() {
    std::vector<std::weak_ptr<package_installation>> under_way;
    {
        std::scoped_lock const lock(installations_mutex_);
        under_way = std::exchange(installations_, {});
    }
    for (auto const& weak : under_way)
        if (auto const installation = weak.lock()) installation->end();
}

IPYBOX_DECL asio::awaitable<result<std::uint64_t>> kernel_actions::approve_own(std::shared_ptr<kernel_actions> self,
                                                                               approval_subject subject) {
    constexpr std::uint64_t after_nothing = 0;
    subject.id = approval_gate::fresh_id();
    subject.cell_id.clear();
    subject.code.clear();
    subject.of_application = true;
    auto const said = co_await self->decide(subject, self->policy_, after_nothing);
    if (!said.accepted()) co_return failure(said.refusal());
    co_return subject.id;
}

IPYBOX_DECL asio::awaitable<result<installation>> kernel_actions::install(std::shared_ptr<kernel_actions> self,
                                                                          std::vector<std::string> words) {
    if (auto const order = read_package_order(words); !order) co_return failure(order.error());
    if (!self->kernel_.packages()) co_return failure(no_package_layer());
    approval_subject subject;
    subject.kind = approval_subject::action::package;
    subject.argv = {"pip", "install"};
    subject.argv.insert(subject.argv.end(), words.begin(), words.end());
    auto const approved = co_await approve_own(self, std::move(subject));
    if (!approved) co_return failure(approved.error());

    auto const began = std::chrono::steady_clock::now();
    action_outcome how;
    auto installed = co_await carry_out_installation(*self, words, how);
    if (!installed) how.failure = installed.error().code();
    how.duration = std::chrono::steady_clock::now() - began;
    self->record(*approved, how);
    co_return installed;
}

IPYBOX_DECL asio::awaitable<result<installation>>
kernel_actions::carry_out_installation(kernel_actions& self, std::vector<std::string> const& words,
                                       action_outcome& how) {
    if (auto turn = co_await take_turn(self.shared_from_this()); !turn) co_return failure(turn);
    auto pipe = package_output::make(self.executor_);
    if (!pipe) co_return failure(pipe);
    program_streams streams;
    streams.standard_output = (*pipe)->take_write_end();
    streams.standard_error.reset(::fcntl(streams.standard_output.get(), F_DUPFD_CLOEXEC, 0));
    auto const begun = self.begin_installation(words, std::move(streams));
    if (!begun) co_return failure(begun.error());
    how.status = co_await (*begun)->ended();
    auto output = co_await (*pipe)->text();
    auto const& outcome = (*begun)->outcome();
    if (!outcome) co_return failure(with_output(outcome.error(), output));
    co_return installation{*outcome, std::move(output)};
}

IPYBOX_DECL asio::awaitable<verdict> kernel_actions::approve_connection(approval_subject& subject) {
    constexpr std::uint64_t after_nothing = 0;
    return approve(subject, after_nothing);
}

IPYBOX_DECL verdict kernel_actions::settle_connection(approval_subject& subject, verdict said) {
    name_asker(subject);
    return gate_.settle(subject, std::move(said));
}

IPYBOX_DECL void kernel_actions::connection_ended(approval_subject const& subject, action_outcome const& how) {
    ended(subject, how);
}

} // namespace ipybox::detail
