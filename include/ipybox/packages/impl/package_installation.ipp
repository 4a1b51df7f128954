#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/async/wait_handler.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/confinement.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/kernel/runtime_source.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/network/network_proxy.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/os/usable_memory.hpp>
#include <ipybox/packages/package_installation.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <asio/redirect_error.hpp>
#include <asio/system_error.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// The size of the installer's largest message.
inline constexpr std::size_t largest_installer_datagram = 128 * 1024;

/// How long the sandbox may take to end after its socket was closed.
inline constexpr std::chrono::seconds time_to_end{5};

/// The sandbox around pip: nothing but the layer can be written to, and the hosts of the index reached.
inline bubblewrap_sandbox sandbox_of(package_layer::options const& options) {
    sandbox_config config;
    config.filesystem.allow_write.clear();
    config.network = options.network;
    return bubblewrap_sandbox(std::move(config));
}

/// Settings of the user, in files and variables, do not count: they would decide where packages come from. Certificates
/// that they name are among the options of the layer.
inline environment environment_of_pip(package_layer::options const& options, os::host_environment const& host) {
    auto env = kernel_environment(host);
    env["PIP_CONFIG_FILE"] = "/dev/null";
    env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1";
    env["PIP_NO_INPUT"] = "1";
    env["PIP_RETRIES"] = "1";
    if (!options.certificates.empty()) env["PIP_CERT"] = options.certificates.string();
    if (options.index.empty()) return env;
    env["PIP_INDEX_URL"] = options.index; // no argument: those can be read by every user of the machine
    if (options.index.starts_with("http://")) {
        auto const& of_index = options.network.allowed_domains.back().text();
        env["PIP_TRUSTED_HOST"] = of_index;
    }
    return env;
}

inline launch_spec launch_of_installer(package_layer const& layer, std::shared_ptr<os::host_programs const> host,
                                       std::filesystem::path const& python) {
    supervisor_options paths;
    paths.python = python;
    paths.working_dir = layer.path();
    auto spec = confinement_of(paths);
    spec.argv = {python.string(), "-I", "-c", std::string(runtime_installer), std::to_string(spec.control_fd)};
    spec.env = environment_of_pip(layer.get_options(), host->environment());
    spec.host = std::move(host);
    spec.writable.push_back(layer.path());
    for (auto const& wheels : layer.get_options().wheels) spec.readable.push_back(wheels);
    if (auto const& file = layer.get_options().certificates; !file.empty()) spec.readable.push_back(file);
    return spec;
}

inline std::string wanted_of(package_layer const& layer, package_order const& order, bool has_network) {
    nlohmann::json wheels = nlohmann::json::array();
    for (auto const& directory : layer.get_options().wheels) wheels.push_back(directory.string());
    auto const memory = large_share_of_memory();
    auto const& size = layer.get_options().size;
    nlohmann::json const wanted = {{"layer", layer.path().string()},
                                   {"requirements", order.requirements},
                                   {"options", order.options},
                                   {"wheels", std::move(wheels)},
                                   {"memory", memory ? nlohmann::json(*memory) : nlohmann::json()},
                                   {"size", size ? nlohmann::json(*size) : nlohmann::json()},
                                   {"network", has_network}};
    return json_text(wanted);
}

IPYBOX_DECL result<std::shared_ptr<package_installation>>
package_installation::start(asio::any_io_executor executor, std::shared_ptr<os::host_programs const> host,
                            std::shared_ptr<package_layer const> layer, std::filesystem::path const& python,
                            package_order const& order, installation_streams streams,
                            std::weak_ptr<network_gate> gate) {
    if (layer->get_options().access != package_layer::permission::install)
        return failure(errc::invalid_argument, "nothing may be installed into the layer of packages " +
                                                   layer->path().string() + ", which sessions import from alone");
    if (!layer->is_in_place())
        return failure(errc::io_error, "the package layer " + layer->path().string() +
                                           " was removed or replaced; make another package_layer");
    auto made = std::make_shared<package_installation>(executor, std::move(layer), std::move(gate));
    if (auto launched = made->launch(std::move(host), python, order, std::move(streams)); !launched)
        return failure(launched);
    auto const over = [made](std::exception_ptr bug) {
        if (bug) made->give_up(error_of(bug));
    };
    spawn(executor, serve(made), over);
    return made;
}

IPYBOX_DECL package_installation::package_installation(asio::any_io_executor const& executor,
                                                       std::shared_ptr<package_layer const> layer,
                                                       std::weak_ptr<network_gate> gate)
    : executor_(executor), layer_(std::move(layer)), gate_(std::move(gate)), control_(executor), exit_(executor),
      limit_(executor), over_(executor, asio::steady_timer::time_point::max()) {}

IPYBOX_DECL package_installation::~package_installation() {
    if (proxy_) proxy_->close();
}

IPYBOX_DECL result<void> package_installation::launch(std::shared_ptr<os::host_programs const> host,
                                                      std::filesystem::path const& python, package_order const& order,
                                                      installation_streams streams) {
    auto spec = sandbox_of(layer_->get_options()).wrap(launch_of_installer(*layer_, std::move(host), python));
    if (!spec) return failure(spec);
    auto control = os::make_seqpacket_pair();
    if (!control) return failure(control);
    if (spec->network) network_ = {spec->network, &spec->network->network};
    auto const wanted = wanted_of(*layer_, order, network_ != nullptr);
    if (wanted.size() > largest_installer_datagram)
        return failure(errc::message_too_large, "the names of packages and the options of pip have " +
                                                    std::to_string(wanted.size()) +
                                                    " bytes as JSON, more than 128 KiB");
    if (os::send_datagram(control->ours.get(), wanted, {}) != os::transfer::done)
        return failure(system_failure("telling pip what to install", errno));
    auto process = os::start_process(*spec, {{spec->control_fd, control->theirs.get()},
                                             {1, streams.standard_output.get()},
                                             {2, streams.standard_error.get()}});
    if (!process)
        return failure(errc::program_not_started, "pip's sandbox cannot be started: " + process.error().text());
    os::unique_fd ended(::fcntl(process->descriptor(), F_DUPFD_CLOEXEC, 0));
    if (!ended) return failure(system_failure("a descriptor for pip", errno));
    process_ = std::move(*process);
    kept_ = std::move(spec->keeps);
    watch(std::move(control->ours), std::move(ended));
    return {};
}

IPYBOX_DECL void package_installation::watch(os::unique_fd control, os::unique_fd exit) {
    unforked_.emplace_back(control.get());
    unforked_.emplace_back(exit.get());
    control_.assign(control.release());
    exit_.assign(exit.release());
    limit_.expires_after(clamped(layer_->get_options().timeout));
    limit_.async_wait(wait_handler([weak = weak_from_this()](asio::error_code cancelled) {
        auto const self = weak.lock();
        if (!self || cancelled) return;
        auto const bound = std::chrono::ceil<std::chrono::seconds>(self->layer_->get_options().timeout);
        self->give_up(error(errc::timed_out, "the installation was not done within " + std::to_string(bound.count()) +
                                                 " s, the time that the package layer gives one"));
    }));
}

IPYBOX_DECL asio::awaitable<void> package_installation::serve(std::shared_ptr<package_installation> self) {
    bool is_open = true;
    while (is_open) {
        asio::error_code failed;
        co_await self->control_.async_wait(asio::posix::stream_descriptor::wait_read,
                                           asio::redirect_error(asio::use_awaitable, failed));
        is_open = !failed && self->read_control();
    }
    co_await self->process_ends();
}

/// Takes one datagram; false at the end.
IPYBOX_DECL bool package_installation::read_control() {
    std::string datagram;
    std::vector<os::unique_fd> descriptors;
    switch (os::receive_datagram(control_.native_handle(), datagram, largest_installer_datagram, descriptors)) {
    case os::transfer::done: hear(datagram, std::move(descriptors)); return true;
    case os::transfer::would_block: return true;
    case os::transfer::closed:
    case os::transfer::failed: return false;
    }
    return false;
}

IPYBOX_DECL void package_installation::hear(std::string const& datagram, std::vector<os::unique_fd> descriptors) {
    auto const said = parse_json(datagram);
    if (!said.is_object()) return;
    auto const operation = jupyter::message::field(said, "op");
    if (operation == "listen" && !descriptors.empty() && !proxy_) serve_hosts(std::move(descriptors.front()));
    if (operation == "ended") keep_outcome(said);
}

IPYBOX_DECL void package_installation::serve_hosts(os::unique_fd listener) {
    if (!network_) return;
    proxy_ = std::make_shared<network_proxy>(executor_, std::move(listener), network_, weak_from_this());
    proxy_->start();
}

/// Keeps how it ended, and has people told what they can do about it.
IPYBOX_DECL void package_installation::keep_outcome(nlohmann::json const& said) {
    auto const kind = jupyter::message::field(said, "outcome");
    std::vector<package_layer::package> installed;
    auto const packages = said.find("installed");
    if (packages != said.end() && packages->is_array())
        for (auto const& package : *packages)
            installed.push_back(
                {jupyter::message::field(package, "name"), jupyter::message::field(package, "version")});
    if (kind == "installed")
        outcome_ = std::move(installed);
    else
        outcome_ = failure(failure_of(kind, jupyter::message::field(said, "text")));
    nlohmann::json const answer = {{"say", outcome_ ? std::string() : outcome_.error().text()}};
    (void)os::send_datagram(control_.native_handle(), json_text(answer), {});
}

IPYBOX_DECL error package_installation::failure_of(std::string const& kind, std::string text) const {
    if (kind == "pip_missing") return error(errc::pip_missing, std::move(text));
    if (kind == "conflict") {
        if (text.empty())
            text = "another version of a package is installed already, or two that are wanted exclude each other";
        return error(errc::package_conflict,
                     text + "; what is installed is not replaced: ask for a version that fits, or use a fresh "
                            "package layer");
    }
    if (kind == "full")
        return error(errc::package_layer_full, text + "; use a fresh package layer, or one that may be larger");
    if (text.empty() && !unreachable_.empty())
        return error(errc::package_index_unreachable,
                     unreachable_ + "; packages come from the index that the application or --package-index names; "
                                    "where its files lie on another host, that has to be allowed as well");
    if (text.empty()) text = "pip failed, and its output says why";
    return error(errc::package_not_installed,
                 text + "; packages that have no wheel for this interpreter are not built");
}

/// Waits for the end of the process, and kills one that does not come to it.
IPYBOX_DECL asio::awaitable<void> package_installation::process_ends() {
    asio::steady_timer patience(executor_, time_to_end);
    patience.async_wait(wait_handler([weak = weak_from_this()](asio::error_code cancelled) {
        if (auto const self = weak.lock(); self && !cancelled) self->kill();
    }));
    asio::error_code failed;
    do {
        co_await exit_.async_wait(asio::posix::stream_descriptor::wait_read,
                                  asio::redirect_error(asio::use_awaitable, failed));
    } while (!failed && !os::has_ended(exit_.native_handle()));
    {
        std::scoped_lock const lock(process_mutex_);
        status_ = process_.wait(std::chrono::milliseconds(0)).value_or(exit_status());
        process_ = os::process();
        kept_.reset();
    }
    if (proxy_) proxy_->close();
    limit_.cancel();
    over_.cancel();
}

IPYBOX_DECL asio::awaitable<exit_status> package_installation::ended() {
    auto const self = shared_from_this();
    while (!status_) {
        asio::error_code woken;
        co_await over_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    co_return *status_;
}

IPYBOX_DECL void package_installation::end() { give_up(error(errc::cancelled, "the installation was cancelled")); }

/// Its outcome is this one, unless it has ended before; its end follows.
IPYBOX_DECL void package_installation::give_up(error why) {
    if (status_) return;
    if (!outcome_) outcome_ = failure(std::move(why));
    if (control_.is_open()) (void)::shutdown(control_.native_handle(), SHUT_RDWR);
}

IPYBOX_DECL void package_installation::kill() noexcept {
    std::scoped_lock const lock(process_mutex_);
    process_.kill_tree();
}

/// The network of pip is what the application says of it.
IPYBOX_DECL asio::awaitable<verdict> package_installation::approve_connection(approval_subject& subject) {
    verdict refused{decision::reject("the host is not one of the index"), error::decider::sandbox};
    co_return settle_connection(subject, std::move(refused));
}

IPYBOX_DECL verdict package_installation::settle_connection(approval_subject& subject, verdict said) {
    auto const gate = gate_.lock();
    auto settled = gate ? gate->settle_connection(subject, std::move(said)) : std::move(said);
    if (!settled.accepted())
        unreachable_ = subject.host + ":" + std::to_string(subject.port) +
                       " may not be reached: " + std::string(settled.made.reason());
    return settled;
}

IPYBOX_DECL void package_installation::connection_ended(approval_subject const& subject, action_outcome const& how) {
    if (how.failure) unreachable_ = how.why.empty() ? subject.host + " cannot be reached" : how.why;
    if (auto const gate = gate_.lock()) gate->connection_ended(subject, how);
}

} // namespace ipybox::detail
