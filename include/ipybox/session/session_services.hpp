#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/fwd.hpp>
#include <ipybox/session/session_service.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ipybox::detail {

class seen_messages;
class session_services;
class session_settings;

/// The demands of all services. \par Thread safety Safe, and it may outlive the session.
class sandbox_demands {
  public:
    void add(std::shared_ptr<sandbox_demand const> demand);
    void add_to(supervisor_options& options) const;
    void list(std::vector<protection_wish>& paths) const;

  private:
    [[nodiscard]] std::vector<std::shared_ptr<sandbox_demand const>> all() const;

    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<sandbox_demand const>> demands_;
};

/**
 * \brief A kind of service that this program has: an object of it gives each session one.
 * \details The header that the application includes for a feature has such an object, and so brings the service along:
 * a program that includes none of them compiles none of them, and its kernels can ask for nothing.
 * \par Thread safety Safe.
 */
class offered_service {
  public:
    /// Sees to it that a session has the service.
    using maker = void (*)(session_services&);

    explicit offered_service(maker make);
    offered_service(offered_service const&) = delete;
    offered_service& operator=(offered_service const&) = delete;
    ~offered_service();

    [[nodiscard]] static std::vector<maker> all();

  private:
    maker make_;
};

/**
 * \brief The services beside the kernels of one session, in the order in which they were made.
 * \par Thread safety Unsafe: belongs to the session's executor. `get`, `offers`, `demands`, `abandon`,
 * `wait_for_functions` and `may_wait` are safe.
 */
class session_services {
  public:
    session_services(asio::any_io_executor executor, std::shared_ptr<session_settings const> settings,
                     std::shared_ptr<any_approval const> policy, std::shared_ptr<seen_messages> seen);

    [[nodiscard]] asio::any_io_executor const& executor() const noexcept { return executor_; }
    [[nodiscard]] std::shared_ptr<session_settings const> const& settings() const noexcept { return settings_; }
    [[nodiscard]] std::shared_ptr<any_approval const> const& policy() const noexcept { return policy_; }
    [[nodiscard]] std::shared_ptr<seen_messages> const& seen() const noexcept { return seen_; }

    /// Makes those that the program has: at the beginning, and again before each kernel, for the beginning may be
    /// earlier than the first line of `main`.
    void make_offered();

    /// The service of this type, which is made by `Service::make(*this)` where there is none yet. It lives as long as
    /// the session.
    template <class Service>
    std::shared_ptr<Service> get() {
        std::scoped_lock const lock(mutex_);
        for (auto const& service : services_)
            if (auto found = std::dynamic_pointer_cast<Service>(service)) return found;
        std::shared_ptr<Service> made = Service::make(*this);
        add(made);
        return made;
    }

    [[nodiscard]] std::shared_ptr<sandbox_demands> const& demands() const noexcept { return demands_; }
    [[nodiscard]] bool offers(session_service::feature what) const;

    /// Whether there is a service for all that the options say. \par Errors errc::invalid_argument — the text says
    /// which header to include
    [[nodiscard]] result<void> do_what_options_say() const;

    /// The same for a kernel that runs, and the hosts that its sandbox opens.
    [[nodiscard]] result<void> can_serve(supervised_process const& kernel) const;

    [[nodiscard]] result<void> prepare(kernel_launch& launch);
    void serve(running_kernel const& kernel);
    void close();
    void begin_cell(std::shared_ptr<acting_cell const> const& cell);
    void end_cell();
    [[nodiscard]] static asio::awaitable<void> stop(std::shared_ptr<session_services> self);
    [[nodiscard]] static asio::awaitable<void> end(std::shared_ptr<session_services> self);
    void abandon();
    void wait_for_functions(std::chrono::milliseconds bound);
    [[nodiscard]] result<void> may_wait() const;

  private:
    using list = std::vector<std::shared_ptr<session_service>>;

    void add(std::shared_ptr<session_service> made);
    [[nodiscard]] list all() const;

    asio::any_io_executor const executor_;
    std::shared_ptr<session_settings const> const settings_;
    std::shared_ptr<any_approval const> const policy_;
    std::shared_ptr<seen_messages> const seen_;
    std::shared_ptr<sandbox_demands> const demands_ = std::make_shared<sandbox_demands>();
    mutable std::recursive_mutex mutex_; ///< a service that is made gets those that it needs
    list services_;
    bool abandoned_ = false;
};

/// A maker for `offered_service`.
template <class Service>
void make_service(session_services& session) {
    (void)session.get<Service>();
}

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/session_services.ipp>
#endif
