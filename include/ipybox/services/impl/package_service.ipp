#pragma once

#include <ipybox/action/action_host.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/packages/add_packages.hpp>
#include <ipybox/packages/package_installation.hpp>
#include <ipybox/packages/package_output.hpp>
#include <ipybox/services/action_service.hpp>
#include <ipybox/services/connection_gate.hpp>
#include <ipybox/services/package_service.hpp>
#include <ipybox/session/session_services.hpp>
#include <ipybox/session/session_settings.hpp>

#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <fcntl.h>

#include <chrono>
#include <csignal>
#include <utility>

namespace ipybox::detail {

/// pip, which runs beside the supervisor.
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

/// Lets kernels import from a layer.
class imported_layer final : public sandbox_demand {
  public:
    explicit imported_layer(std::shared_ptr<package_layer const> layer) : layer_(std::move(layer)) {}

    void add_to(supervisor_options& options) const override { add_packages(options, layer_); }

  private:
    std::shared_ptr<package_layer const> const layer_;
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

inline offered_service const packages_are_offered{make_service<package_service>};

IPYBOX_DECL std::shared_ptr<package_service> package_service::make(session_services& session) {
    auto const actions = session.get<action_service>();
    auto const made = std::make_shared<package_service>(session, actions->approvals());
    actions->attach(std::shared_ptr<program_actions>(made));
    return made;
}

IPYBOX_DECL package_service::package_service(session_services const& session,
                                             std::shared_ptr<approval_service> approvals)
    : executor_(session.executor()), programs_(session.settings()->programs()),
      wanted_layer_(session.settings()->options().kernel.packages), approvals_(std::move(approvals)),
      gate_(std::make_shared<connection_gate>(approvals_)),
      own_gate_(std::make_shared<connection_gate>(approvals_, connection_gate::party::application)) {}

IPYBOX_DECL package_service::~package_service() = default;

IPYBOX_DECL std::shared_ptr<sandbox_demand const> package_service::demand() const {
    return wanted_layer_ ? std::make_shared<imported_layer>(wanted_layer_) : nullptr;
}

IPYBOX_DECL void package_service::serve(running_kernel const& kernel) {
    kernel_ = kernel.process;
    ++kernels_;
}

IPYBOX_DECL void package_service::close() {
    std::vector<std::weak_ptr<package_installation>> ending;
    {
        std::scoped_lock const lock(mutex_);
        ending = std::exchange(installations_, {});
    }
    for (auto const& weak : ending)
        if (auto const installation = weak.lock()) installation->end();
    kernel_ = supervised_process();
    ++kernels_;
}

IPYBOX_DECL void package_service::abandon() {
    std::scoped_lock const lock(mutex_);
    for (auto const& weak : installations_)
        if (auto const installation = weak.lock()) installation->kill();
}

IPYBOX_DECL bool package_service::takes(program_run const& wanted) const {
    return kernel_.packages() && wanted.kind == approval_subject::action::package && wanted.argv.size() > 1 &&
           wanted.argv[0] == "pip" && wanted.argv[1] == "install";
}

IPYBOX_DECL asio::awaitable<result<std::shared_ptr<running_program>>> package_service::run(program_run const& wanted,
                                                                                           program_streams streams) {
    if (auto turn = co_await take_turn(shared_from_this()); !turn) co_return failure(turn);
    auto const begun = begin(std::span(wanted.argv).subspan(2), std::move(streams), gate_);
    if (!begun) co_return failure(begun.error());
    co_return std::make_shared<installing_program>(*begun);
}

IPYBOX_DECL result<package_service::installation_ptr> package_service::begin(std::span<std::string const> words,
                                                                             program_streams streams,
                                                                             std::shared_ptr<connection_gate> gate) {
    auto const layer = kernel_.packages();
    if (!layer) return failure(no_package_layer());
    auto const order = read_package_order(words);
    if (!order) return failure(order.error());
    installation_streams theirs{std::move(streams.standard_output), std::move(streams.standard_error)};
    auto begun = package_installation::start(executor_, programs_, layer, kernel_.interpreter(), *order,
                                             std::move(theirs), std::move(gate));
    if (begun) keep(*begun);
    return begun;
}

/// Waits until no other installation of this session is under way: pip runs beside the kernel, whose limits do not
/// count there.
IPYBOX_DECL asio::awaitable<result<void>> package_service::take_turn(std::shared_ptr<package_service> self) {
    auto const asker = self->kernels_;
    while (auto const before = self->under_way()) {
        (void)co_await before->ended();
        auto const state = co_await asio::this_coro::cancellation_state;
        if (self->kernels_ != asker || state.cancelled() != asio::cancellation_type::none)
            co_return failure(errc::cancelled, "the installation was cancelled");
    }
    co_return result<void>();
}

IPYBOX_DECL package_service::installation_ptr package_service::under_way() {
    std::scoped_lock const lock(mutex_);
    for (auto const& weak : installations_)
        if (auto installation = weak.lock(); installation && !installation->has_ended()) return installation;
    return nullptr;
}

IPYBOX_DECL void package_service::keep(installation_ptr const& begun) {
    std::scoped_lock const lock(mutex_);
    std::erase_if(installations_, [](auto const& other) { return other.expired(); });
    installations_.push_back(begun);
}

IPYBOX_DECL asio::awaitable<result<installation>> package_service::install(std::shared_ptr<package_service> self,
                                                                           std::vector<std::string> words) {
    if (auto const order = read_package_order(words); !order) co_return failure(order.error());
    if (!self->kernel_.packages()) co_return failure(no_package_layer());
    approval_subject subject;
    subject.kind = approval_subject::action::package;
    subject.argv = {"pip", "install"};
    subject.argv.insert(subject.argv.end(), words.begin(), words.end());
    auto const approved = co_await approval_service::approve_own(self->approvals_, std::move(subject));
    if (!approved) co_return failure(approved.error());

    auto const began = std::chrono::steady_clock::now();
    action_outcome how;
    auto installed = co_await carry_out(*self, words, how);
    if (!installed) how.failure = installed.error().code();
    how.duration = std::chrono::steady_clock::now() - began;
    self->approvals_->record(*approved, how);
    co_return installed;
}

IPYBOX_DECL asio::awaitable<result<installation>>
package_service::carry_out(package_service& self, std::vector<std::string> const& words, action_outcome& how) {
    if (auto turn = co_await take_turn(self.shared_from_this()); !turn) co_return failure(turn);
    auto pipe = package_output::make(self.executor_);
    if (!pipe) co_return failure(pipe);
    program_streams streams;
    streams.standard_output = (*pipe)->take_write_end();
    streams.standard_error.reset(::fcntl(streams.standard_output.get(), F_DUPFD_CLOEXEC, 0));
    auto const begun = self.begin(words, std::move(streams), self.own_gate_);
    if (!begun) co_return failure(begun.error());
    how.status = co_await (*begun)->ended();
    auto output = co_await (*pipe)->text();
    auto const& outcome = (*begun)->outcome();
    if (!outcome) co_return failure(with_output(outcome.error(), output));
    co_return installation{*outcome, std::move(output)};
}

} // namespace ipybox::detail
