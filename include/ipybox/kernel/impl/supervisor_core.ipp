#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/json_depth.hpp>
#include <ipybox/core/json_of_bytes.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/impl/supervisor_core.hpp>
#include <ipybox/kernel/impl/supervisor_limits.hpp>
#include <ipybox/kernel/version_check_source.hpp>
#include <ipybox/os/remove_tree.hpp>
#include <ipybox/os/small_stack.hpp>

#include <asio/dispatch.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <utility>

namespace ipybox::detail {

/// docs/kernel-protocol.md section 2.
inline constexpr std::size_t largest_datagram = 128 * 1024;

/// So many datagrams are taken at once: one that floods us must not keep the executor.
inline constexpr int most_datagrams = 64;

/// What a supervisor has to say nests no deeper than this.
inline constexpr std::size_t deepest_answer = 64;

/// What is kept of standard error.
inline constexpr std::size_t diagnostics_size = 16 * 1024;

IPYBOX_DECL supervised_state::~supervised_state() { core->discard(pid); }

IPYBOX_DECL supervisor_core::supervisor_core(std::unique_ptr<io_thread>&& own, asio::any_io_executor executor,
                                             supervisor_options options)
    : thread_(std::move(own)), executor_(std::move(executor)), options_(std::move(options)), control_(executor_),
      standard_error_(executor_) {
    if (options_.duty != supervisor_options::role::spawns_only) return;
    // Short, because the names of Unix sockets are.
    std::string name = "/tmp/ipybox-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr)
        private_dir_ = name;
    else
        failure_ = system_failure("making a directory below /tmp", errno);
}

IPYBOX_DECL supervisor_core::supervisor_core(asio::any_io_executor executor, supervisor_options options)
    : supervisor_core(std::unique_ptr<io_thread>(), std::move(executor), std::move(options)) {}

IPYBOX_DECL supervisor_core::supervisor_core(std::unique_ptr<io_thread> own, supervisor_options options)
    : supervisor_core(std::move(own), own->get_executor(), std::move(options)) {}

IPYBOX_DECL supervisor_core::~supervisor_core() {
    end();
    if (!private_dir_.empty()) (void)os::remove_tree(private_dir_);
}

IPYBOX_DECL void supervisor_core::when_ready(std::chrono::milliseconds bound, std::stop_token stop,
                                             completion<result<supervisor_info>> done) {
    asio::dispatch(executor_,
                   [self = shared_from_this(), bound, stop = std::move(stop), done = std::move(done)]() mutable {
                       self->ensure_started();
                       if (self->failure_) return done(failure(*self->failure_));
                       if (self->info_) return done(*self->info_);
                       self->ready_waiters_.push_back(self->bounded(bound, std::move(done), std::move(stop)));
                   });
}

IPYBOX_DECL void supervisor_core::start_process(json message, std::vector<os::unique_fd> descriptors,
                                                std::chrono::milliseconds bound, std::stop_token stop,
                                                completion<result<supervised_process>> done) {
    asio::dispatch(executor_, [self = shared_from_this(), message = std::move(message), fds = std::move(descriptors),
                               bound, stop = std::move(stop), done = std::move(done)]() mutable {
        auto answer = self->bounded(bound, std::move(done), std::move(stop));
        self->ensure_started(); // it says whether there are hosts to be reached
        if (auto added = self->add_network(message); !added) return (*answer)(failure(added));
        self->request(std::move(message), std::move(fds), [weak = self->weak_from_this(), answer](result<json> reply) {
            auto const core = weak.lock();
            if (!reply) return (*answer)(failure(reply));
            if (!core) return (*answer)(failure(errc::not_running));
            // Too late for the caller, the handle is dropped here and the process ends with it.
            (*answer)(core->started(*reply));
        });
    });
}

/// Where hosts are to be reached by name, a kernel that is forked gets a socket for that. A foreign kernel gets none: no session serves it.
IPYBOX_DECL result<void> supervisor_core::add_network(json& message) const {
    auto const& operation = message["op"];
    if (!network_ || (operation != "fork" && operation != "spawn")) return {};
    if (operation == "spawn")
        return failure(errc::invalid_argument, "hosts can be opened for the default kernel alone: use "
                                               "socketpair_transport, or leave network/allowedDomains empty");
    message["network"] = true;
    return {};
}

IPYBOX_DECL result<supervised_process> supervisor_core::started(json const& answer) {
    auto arrived = std::exchange(arrived_, {});
    auto const pid = answer.find("pid");
    if (pid == answer.end() || !pid->is_number_integer())
        return failure(errc::protocol_error, "the supervisor's answer has no pid");
    auto state = std::make_shared<supervised_state>(shared_from_this(), pid->get<int>());
    processes_[state->pid] = state->ending;
    if (network_ && !arrived.empty()) {
        state->listener = std::move(arrived.front());
        state->network = network_;
    }
    return supervised_process(std::move(state));
}

IPYBOX_DECL void supervisor_core::signal(int pid, int number, completion<result<void>> done) {
    asio::dispatch(executor_, [self = shared_from_this(), pid, number, done = std::move(done)]() mutable {
        auto answer = self->bounded(std::chrono::seconds(2), std::move(done));
        json message = {{"op", "signal"}, {"pid", pid}, {"signal", number}, {"group", true}};
        self->request(std::move(message), {}, [answer](result<json> reply) {
            if (reply)
                (*answer)(result<void>());
            else
                (*answer)(failure(reply));
        });
    });
}

IPYBOX_DECL void supervisor_core::wait_for(std::shared_ptr<supervised_state::watch> ending,
                                           completion<exit_status> done) {
    asio::dispatch(executor_,
                   [self = shared_from_this(), ending = std::move(ending), done = std::move(done)]() mutable {
                       if (ending->status) return done(*ending->status);
                       if (self->failure_) return done(exit_status());
                       ending->waiters.push_back(std::move(done));
                   });
}

IPYBOX_DECL void supervisor_core::discard(int pid) {
    if (!owner_.is_this()) return;
    asio::dispatch(executor_, [weak = weak_from_this(), pid] {
        auto const self = weak.lock();
        if (!self || self->failure_ || !self->processes_.contains(pid)) return;
        json message = {{"op", "signal"}, {"pid", pid}, {"signal", SIGKILL}, {"group", true}};
        self->request(std::move(message), {}, [](result<json> const&) {});
    });
}

IPYBOX_DECL void supervisor_core::watch(int pid, bool runs) {
    if (!options_.limits.kernel_memory && !options_.limits.processes) return;
    asio::dispatch(executor_, [weak = weak_from_this(), pid, runs] {
        auto const self = weak.lock();
        if (!self || self->failure_ || !self->processes_.contains(pid)) return;
        json message = {{"op", "watch"}, {"pid", pid}, {"runs", runs}};
        self->request(std::move(message), {}, [](result<json> const&) {});
    });
}

IPYBOX_DECL void supervisor_core::end(std::chrono::milliseconds patience) {
    if (!owner_.is_this()) return;
    std::scoped_lock const lock(mutex_);
    ended_ = true;
    // A shutdown, unlike a close, is seen by the other end even while our own reactor still holds the socket.
    if (control_switch_) (void)::shutdown(control_switch_.get(), SHUT_RDWR);
    if (!process_.wait(patience)) process_ = os::process(); // its destructor kills the whole tree
    kept_.reset();
    switch_unforked_ = os::unforked();
    control_switch_.reset();
    lifeline_unforked_ = os::unforked();
    lifeline_.reset();
}

/// Waits for the end of the process within a bound, and holds up no thread.
IPYBOX_DECL asio::awaitable<void> supervisor_core::process_ends(std::chrono::milliseconds bound) {
    struct waiting {
        waiting(asio::any_io_executor const& executor, int descriptor, std::chrono::milliseconds patience)
            : end(executor, descriptor), limit(executor, patience) {}
        asio::posix::stream_descriptor end;
        asio::steady_timer limit;
    };
    auto const executor = co_await asio::this_coro::executor;
    std::shared_ptr<waiting> wait;
    {
        std::scoped_lock const lock(mutex_);
        os::unique_fd copy(process_.descriptor() < 0 ? -1 : ::fcntl(process_.descriptor(), F_DUPFD_CLOEXEC, 0));
        if (copy) wait = std::make_shared<waiting>(executor, copy.release(), bound);
    }
    if (!wait) co_return;
    wait->limit.async_wait([weak = std::weak_ptr(wait)](asio::error_code cancelled) {
        asio::error_code ignored;
        if (auto const late = weak.lock(); late && !cancelled) late->end.cancel(ignored);
    });
    asio::error_code late;
    auto const until = wait->limit.expiry();
    do {
        co_await wait->end.async_wait(asio::posix::stream_descriptor::wait_read,
                                      asio::redirect_error(asio::use_awaitable, late));
    } while (!late && !os::has_ended(wait->end.native_handle()) && std::chrono::steady_clock::now() < until);
    wait->limit.cancel();
}

/// As `end`, but its patience holds up no thread.
IPYBOX_DECL asio::awaitable<void> supervisor_core::ended() {
    auto const self = shared_from_this();
    {
        std::scoped_lock const lock(mutex_);
        ended_ = true;
        if (control_switch_) (void)::shutdown(control_switch_.get(), SHUT_RDWR);
    }
    co_await process_ends(std::chrono::seconds(1));
    end(std::chrono::milliseconds(0));
}

/// Ends one that does not answer. What waits for it hears of that from its socket.
IPYBOX_DECL void supervisor_core::kill() {
    std::scoped_lock const lock(mutex_);
    process_ = os::process();
}

IPYBOX_DECL std::string supervisor_core::diagnostics() const {
    std::scoped_lock const lock(mutex_);
    return standard_error_tail_;
}

template <class T>
std::shared_ptr<bounded_completion<T>> supervisor_core::bounded(std::chrono::milliseconds bound,
                                                                completion<result<T>> done, std::stop_token stop) {
    auto const late = [weak = weak_from_this(), bound] {
        auto text = "the supervisor did not answer within " + std::to_string(bound.count()) + " ms";
        auto const self = weak.lock();
        if (auto const said = self ? self->diagnostics() : std::string(); !said.empty()) text += "; it said:\n" + said;
        // It would miss the next bound too. Tenants of a shared one may have better luck than this caller.
        if (self && !self->options_.has_tenants) self->kill();
        return error(errc::kernel_unresponsive, std::move(text));
    };
    return bounded_completion<T>::make(executor_, bound, std::move(done), late, std::move(stop));
}

IPYBOX_DECL void supervisor_core::ensure_started() {
    if (started_ || failure_) return;
    started_ = true;
    auto launched = launch_supervisor(options_, private_dir_);
    if (!launched) return fail(std::move(launched).error());
    adopt(std::move(*launched));
}

IPYBOX_DECL void supervisor_core::adopt(launched_supervisor started) {
    {
        std::scoped_lock const lock(mutex_);
        if (ended_) return fail(error(errc::not_running, "the supervisor was ended before it started"));
        kept_ = std::move(started.kept);
        network_ = std::move(started.network);
        keeps_apart_ = started.keeps_apart;
        process_ = std::move(started.process);
        program_ = std::move(started.program);
        lifeline_ = std::move(started.lifeline);
        if (lifeline_) lifeline_unforked_ = os::unforked(lifeline_.get());
        control_switch_.reset(::fcntl(started.control.get(), F_DUPFD_CLOEXEC, 0));
        if (!control_switch_) {
            auto const why = system_failure("a descriptor for the supervisor", errno);
            process_ = os::process();
            return fail(why);
        }
        switch_unforked_ = os::unforked(control_switch_.get());
    }
    control_unforked_ = os::unforked(started.control.get());
    control_.assign(started.control.release());
    standard_error_unforked_ = os::unforked(started.standard_error.get());
    standard_error_.assign(started.standard_error.release());
    (void)::fcntl(standard_error_.native_handle(), F_SETFL, O_NONBLOCK);
    await_control();
    await_standard_error();
}

/// A file with the part of a request that is for one kernel alone. The supervisor does not read it, for later kernels inherit its memory.
inline result<os::unique_fd> take_own_part(json& message) {
    auto const& operation = message["op"];
    if (operation != "fork" && operation != "run") return os::unique_fd();
    json own = json::object();
    for (auto const* name : {"env", "argv", "cwd"}) {
        auto const member = message.find(name);
        if (member == message.end() || (operation == "fork" && member.key() == "cwd")) continue;
        own[name] = std::move(*member);
        message.erase(member);
    }
    return os::make_memory_file("ipybox_own", json_of_bytes(own));
}

IPYBOX_DECL void supervisor_core::request(json message, std::vector<os::unique_fd> descriptors,
                                          answer_function answer) {
    ensure_started();
    if (failure_) return answer(failure(*failure_));
    auto const id = ++last_id_;
    message["id"] = id;
    auto bytes = json_of_bytes(message);
    if (bytes.size() > largest_datagram)
        return answer(
            failure(error(errc::message_too_large, "the environment or the arguments of a process exceed 128 KiB")
                        .with_cause(std::make_error_code(std::errc::argument_list_too_long))));
    if (keeps_apart_) {
        auto own = take_own_part(message);
        if (!own) return answer(failure(own));
        if (*own) descriptors.push_back(std::move(*own));
        bytes = json_of_bytes(message);
    }
    answers_[id] = std::move(answer);
    outbox_.push_back({id, std::move(bytes), std::move(descriptors)});
    flush();
}

IPYBOX_DECL void supervisor_core::flush() {
    while (!outbox_.empty() && !sending_) {
        auto const& next = outbox_.front();
        switch (os::send_datagram(control_.native_handle(), next.bytes, next.descriptors)) {
        case os::transfer::done: outbox_.pop_front(); break;
        case os::transfer::would_block:
            sending_ = true;
            control_.async_wait(asio::posix::stream_descriptor::wait_write,
                                [weak = weak_from_this()](asio::error_code) {
                                    auto const self = weak.lock();
                                    if (!self) return;
                                    self->sending_ = false;
                                    self->flush();
                                });
            return;
        case os::transfer::closed: outbox_.clear(); return; // reading sees the end and says why
        case os::transfer::failed: {
            // For want of descriptors or memory, say: the system's answer to this request alone.
            auto why = system_failure("sending to the supervisor", errno);
            auto const unsent = answers_.extract(next.id);
            outbox_.pop_front();
            if (unsent) unsent.mapped()(failure(std::move(why)));
        }
        }
    }
}

IPYBOX_DECL void supervisor_core::await_control() {
    control_.async_wait(asio::posix::stream_descriptor::wait_read,
                        [weak = weak_from_this()](asio::error_code cancelled) {
                            auto const self = weak.lock();
                            if (self && !cancelled && self->read_control()) self->await_control();
                        });
}

/// Handles what has arrived; false at the end.
IPYBOX_DECL bool supervisor_core::read_control() {
    std::string datagram;
    for (int datagrams = 0; datagrams < most_datagrams; ++datagrams) {
        switch (os::receive_datagram(control_.native_handle(), datagram, largest_datagram, arrived_)) {
        case os::transfer::done: dispatch(datagram); break;
        case os::transfer::would_block: return !failure_;
        case os::transfer::closed:
        case os::transfer::failed: on_end_of_control(); return false;
        }
        if (failure_) return false;
    }
    return true;
}

IPYBOX_DECL void supervisor_core::await_standard_error() {
    standard_error_.async_wait(asio::posix::stream_descriptor::wait_read,
                               [weak = weak_from_this()](asio::error_code cancelled) {
                                   auto const self = weak.lock();
                                   if (self && !cancelled && self->read_standard_error()) self->await_standard_error();
                               });
}

/// Keeps the tail of what has arrived, no more than a pipe holds: who writes without end must not keep us. False at the end.
IPYBOX_DECL bool supervisor_core::read_standard_error() {
    std::array<char, 4096> piece;
    for (int pieces = 0; pieces < 16; ++pieces) {
        auto const count = ::read(standard_error_.native_handle(), piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 && errno == EAGAIN;
        std::scoped_lock const lock(mutex_);
        auto& tail = standard_error_tail_;
        tail.append(piece.data(), static_cast<std::size_t>(count));
        if (tail.size() > diagnostics_size) tail.erase(0, tail.size() - diagnostics_size);
    }
    return true;
}

IPYBOX_DECL void supervisor_core::dispatch(std::string_view datagram) {
    auto const message = json::parse(datagram, nullptr, false);
    if (!message.is_object())
        return fail(error(errc::protocol_error, "the supervisor sent something that is no JSON object"));
    if (nests_deeper_than(deepest_answer, message))
        return fail(error(errc::protocol_error, "the supervisor sent JSON that nests too deeply"));
    if (message.contains("event")) return on_event(message);

    auto const id = message.find("id");
    auto const waiting =
        id != message.end() && id->is_number_integer() ? answers_.find(id->get<std::int64_t>()) : answers_.end();
    if (waiting == answers_.end())
        return fail(error(errc::protocol_error, "the supervisor answered what was not asked"));
    auto const answer = std::move(waiting->second);
    answers_.erase(waiting);
    auto const refused = message.find("error");
    if (refused == message.end()) return answer(message);
    auto const kind = jupyter::field(*refused, "kind");
    auto const code = kind == "cwd"     ? errc::invalid_argument
                      : kind == "walls" ? errc::sandbox_unavailable
                      : kind == "guard" ? errc::guard_unavailable
                                        : errc::kernel_start_failed;
    error why(code, jupyter::field(*refused, "text"));
    if (auto const number = refused->find("errno"); number != refused->end() && number->is_number_integer())
        why.with_cause({number->get<int>(), std::generic_category()});
    answer(failure(std::move(why)));
}

IPYBOX_DECL void supervisor_core::on_event(json const& event) {
    auto const kind = jupyter::field(event, "event");
    if (kind == "failed") return fail(failed_event(event));
    if (kind == "ready") {
        info_.emplace(supervisor_info{jupyter::field(event, "executable"), jupyter::field(event, "python"),
                                      jupyter::field(event, "ipykernel"), jupyter::field(event, "ipython"),
                                      jupyter::field(event, "level")});
        for (auto const& waiter : std::exchange(ready_waiters_, {})) (*waiter)(*info_);
    }
    if (kind == "exit") {
        auto const number = [&event](char const* name) {
            auto const found = event.find(name);
            return found != event.end() && found->is_number_integer() ? std::optional<int>(found->get<int>())
                                                                      : std::nullopt;
        };
        if (auto const pid = number("pid")) on_exit(*pid, {number("code"), number("signal"), exceeded_in(event)});
    }
}

IPYBOX_DECL void supervisor_core::on_exit(int pid, exit_status status) {
    auto const found = processes_.find(pid);
    if (found == processes_.end()) return;
    auto const ending = std::move(found->second);
    processes_.erase(found);
    ending->status = status;
    for (auto& waiter : std::exchange(ending->waiters, {})) waiter(status);
}

IPYBOX_DECL void supervisor_core::fail(error why) {
    if (failure_) return;
    failure_ = std::move(why);
    asio::error_code ignored;
    control_.cancel(ignored);
    standard_error_.cancel(ignored); // what the sandbox left behind may hold its other end
    outbox_.clear();
    for (auto const& waiter : std::exchange(ready_waiters_, {})) (*waiter)(failure(*failure_));
    for (auto const& [id, answer] : std::exchange(answers_, {})) answer(failure(*failure_));
    for (auto const& [pid, ending] : std::exchange(processes_, {})) {
        ending->status.emplace();
        for (auto& waiter : std::exchange(ending->waiters, {})) waiter(exit_status());
    }
}

/// End of file comes from the end of the process, which is a matter of microseconds.
IPYBOX_DECL void supervisor_core::on_end_of_control() {
    auto const say_why = [self = shared_from_this()](std::exception_ptr bug) {
        self->fail(bug ? error_of(bug) : self->end_of_control());
    };
    spawn(executor_, process_ends(std::chrono::milliseconds(200)), say_why);
}

IPYBOX_DECL error supervisor_core::end_of_control() {
    exit_status status;
    {
        std::scoped_lock const lock(mutex_);
        if (ended_) return error(errc::not_running, "the supervisor was ended");
        status = process_.wait(std::chrono::milliseconds(0)).value_or(exit_status());
    }
    (void)read_standard_error();
    auto text = (info_ ? "the supervisor ended: " : "the supervisor ended before it was ready: ") + to_string(status);
    auto const said = diagnostics();
    if (!info_ && said.starts_with(too_old_begins)) return error(errc::python_not_found, said).with_status(status);
    if (!said.empty())
        text += "; it said:\n" + said;
    else if (!info_ && status.signal == SIGSEGV && os::small_stack())
        text += "; programs that this process starts get a stack of " + std::to_string(*os::small_stack()) +
                " bytes (RLIMIT_STACK, `ulimit -s`), which is too small for Python: raise that limit to 8 MiB";
    else if (!info_ && program_ != options_.python)
        text += "; it said nothing: does the sandbox's command " + program_ + " start the program behind it, " +
                options_.python.string() + ", and is that a Python interpreter?";
    else if (!info_)
        text += "; it said nothing: is " + options_.python.string() + " a Python interpreter?";
    return error(info_ ? errc::supervisor_died : errc::kernel_start_failed, std::move(text)).with_status(status);
}

IPYBOX_DECL error supervisor_core::failed_event(json const& event) const {
    auto const kind = jupyter::field(event, "kind");
    auto const code = kind == "ipykernel_missing" ? errc::ipykernel_missing
                      : kind == "unsupported"     ? errc::ipykernel_unsupported
                                                  : errc::kernel_start_failed;
    return error(code, jupyter::field(event, "text"));
}

} // namespace ipybox::detail
