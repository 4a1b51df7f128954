#pragma once

#include <ipybox/async/post_work.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/async/wait_handler.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/json_of_bytes.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/impl/supervisor_core.hpp>
#include <ipybox/kernel/impl/supervisor_end.hpp>
#include <ipybox/kernel/impl/supervisor_request.hpp>
#include <ipybox/os/remove_tree.hpp>

#include <fcntl.h>
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

IPYBOX_DECL supervised_state::~supervised_state() { core->discard(pid); }

IPYBOX_DECL supervisor_core::supervisor_core(std::unique_ptr<io_thread>&& own, asio::any_io_executor executor,
                                             supervisor_options options)
    : thread_(std::move(own)), executor_(std::move(executor)), options_(std::move(options)), control_(executor_),
      standard_error_(executor_) {
    if (options_.forks_kernels) return;
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
    process_.end();
    if (!private_dir_.empty()) (void)os::remove_tree(private_dir_);
}

template <class T, class Make>
void supervisor_core::request_of(completion<result<T>> done, std::chrono::milliseconds bound, std::stop_token stop,
                                 Make make) {
    on_executor(
        [bound, stop = std::move(stop), done = std::move(done), make = std::move(make)](supervisor_core& core) mutable {
            auto const answer = core.bounded(bound, std::move(done), std::move(stop));
            try {
                make(core, answer);
            } catch (...) { (*answer)(failure(error_of(std::current_exception()))); }
        });
}

IPYBOX_DECL void supervisor_core::when_ready(std::chrono::milliseconds bound, std::stop_token stop,
                                             completion<result<supervisor_info>> done) {
    on_executor([bound, stop = std::move(stop), done = std::move(done)](supervisor_core& core) mutable {
        core.ensure_started();
        if (core.failure_) return done(failure(*core.failure_));
        if (core.info_) return done(*core.info_);
        core.ready_waiters_.push_back(core.bounded(bound, std::move(done), std::move(stop)));
    });
}

IPYBOX_DECL void supervisor_core::start_process(json message, std::vector<os::unique_fd> descriptors,
                                                std::chrono::milliseconds bound, std::stop_token stop,
                                                completion<result<supervised_process>> done) {
    auto make = [message = std::move(message), fds = std::move(descriptors)](supervisor_core& core,
                                                                             auto const& answer) mutable {
        core.ensure_started(); // it says whether there are hosts to be reached
        if (auto added = add_network(message, core.network_ != nullptr); !added) return (*answer)(failure(added));
        auto group = core.add_group(message, fds);
        if (!group) return (*answer)(failure(group));
        auto keeps = add_closed_files(message, core.walls_);
        if (!keeps) return (*answer)(failure(keeps));
        auto const ending = std::make_shared<supervised_state::watch>();
        ending->group = std::move(*group), ending->keeps = std::move(*keeps);
        core.request(std::move(message), std::move(fds), [weak = core.weak_from_this(), answer, ending](auto reply) {
            auto const here = weak.lock();
            if (!reply) return (*answer)(failure(reply));
            if (!here) return (*answer)(failure(errc::not_running));
            // Too late for the caller, the handle is dropped here and the process ends with it.
            (*answer)(here->started(*reply, ending));
        });
    };
    request_of(std::move(done), bound, std::move(stop), std::move(make));
}

/// Makes the control group of a kernel and its processes, and adds the file by which they enter it.
IPYBOX_DECL result<std::shared_ptr<os::cgroup const>>
supervisor_core::add_group(json& message, std::vector<os::unique_fd>& descriptors) {
    auto const& operation = message["op"];
    auto const groups = process_.groups();
    if (!groups || (operation != "fork" && operation != "spawn")) return nullptr;
    auto group = groups->make_for_kernel();
    if (!group) return group;
    auto entrance = (*group)->entrance();
    if (!entrance) return failure(entrance);
    descriptors.insert(descriptors.begin(), std::move(*entrance));
    message["cgroup"] = true;
    return group;
}

IPYBOX_DECL result<supervised_process> supervisor_core::started(json const& answer,
                                                                std::shared_ptr<supervised_state::watch> ending) {
    auto arrived = std::exchange(arrived_, {});
    auto const pid = answer.find("pid");
    if (pid == answer.end() || !pid->is_number_integer())
        return failure(errc::protocol_error, "the supervisor's answer has no pid");
    auto state = std::make_shared<supervised_state>(shared_from_this(), pid->get<int>(), std::move(ending));
    processes_[state->pid] = state->ending;
    auto next = arrived.begin();
    if (network_ && next != arrived.end()) {
        state->listener = std::move(*next++);
        state->network = network_;
    }
    for (auto& output : state->outputs)
        if (next != arrived.end()) output = std::move(*next++);
    return supervised_process(std::move(state));
}

IPYBOX_DECL void supervisor_core::signal(int pid, int number, completion<result<void>> done) {
    auto const make = [pid, number](supervisor_core& core, auto const& answer) {
        json message = {{"op", "signal"}, {"pid", pid}, {"signal", number}, {"group", true}};
        core.request(std::move(message), {}, [answer](result<json> reply) {
            (*answer)(reply ? result<void>() : result<void>(failure(reply)));
        });
    };
    request_of(std::move(done), std::chrono::seconds(2), {}, make);
}

IPYBOX_DECL void supervisor_core::wait_for(std::shared_ptr<supervised_state::watch> ending,
                                           completion<exit_status> done) {
    on_executor([ending = std::move(ending), done = std::move(done)](supervisor_core& core) mutable {
        if (ending->status) return done(*ending->status);
        if (core.failure_) return done(exit_status());
        ending->waiters.push_back(std::move(done));
    });
}

IPYBOX_DECL void supervisor_core::discard(int pid) {
    if (!owner_.is_this()) return;
    tell_of(pid,
            [pid] { return json::object({{"op", "signal"}, {"pid", pid}, {"signal", SIGKILL}, {"group", true}}); });
}

IPYBOX_DECL void supervisor_core::watch(int pid, bool runs) {
    if ((!options_.limits.kernel_memory && !options_.limits.processes) || !options_.limits.cgroup.empty()) return;
    tell_of(pid, [pid, runs] { return json::object({{"op", "watch"}, {"pid", pid}, {"runs", runs}}); });
}

template <class Make>
void supervisor_core::tell_of(int pid, Make make) {
    dispatch_work(executor_, [weak = weak_from_this(), pid, make] {
        auto const self = weak.lock();
        if (!self || self->failure_ || !self->processes_.contains(pid)) return;
        self->guarded([&] { self->request(make(), {}, [](result<json> const&) {}); });
    });
}

IPYBOX_DECL asio::awaitable<void> supervisor_core::ended() {
    auto const self = shared_from_this();
    process_.begin_end();
    co_await process_.ends(std::chrono::seconds(1));
    process_.end(std::chrono::milliseconds(0));
}

template <class T>
std::shared_ptr<bounded_completion<T>> supervisor_core::bounded(std::chrono::milliseconds bound,
                                                                completion<result<T>> done, std::stop_token stop) {
    auto const late = [weak = weak_from_this(), bound] {
        auto text = "the supervisor did not answer within " + std::to_string(bound.count()) + " ms";
        auto const self = weak.lock();
        if (self && !self->info_)
            text += "; does its command, " + command_of(self->process_.program(), self->options_.python.string()) +
                    ", start a Python interpreter? If it is slow, raise kernel.init_timeout";
        if (auto const said = self ? self->diagnostics() : std::string(); !said.empty()) text += "; it said:\n" + said;
        // It would miss the next bound too. Tenants of a shared one may have better luck than this caller.
        if (self && !self->options_.has_tenants) self->process_.kill();
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
    network_ = std::move(started.network);
    walls_ = std::move(started.walls);
    if (auto adopted = process_.adopt(started); !adopted) return fail(std::move(adopted).error());
    control_unforked_ = os::unforked(started.control.get());
    control_.assign(started.control.release());
    standard_error_unforked_ = os::unforked(started.standard_error.get());
    standard_error_.assign(started.standard_error.release());
    (void)::fcntl(standard_error_.native_handle(), F_SETFL, O_NONBLOCK);
    datagram_.reserve(largest_datagram);
    await_control();
    await_standard_error();
}

IPYBOX_DECL void supervisor_core::request(json message, std::vector<os::unique_fd> descriptors,
                                          answer_function answer) {
    ensure_started();
    if (failure_) return answer(failure(*failure_));
    auto const id = ++last_id_;
    message["id"] = id;
    auto closed = take_member(message, "closed"); // goes into a file, as long as it may be
    auto bytes = json_of_bytes(message);
    if (bytes.size() > largest_datagram)
        return answer(
            failure(error(errc::message_too_large, "the environment or the arguments of a process exceed 128 KiB")
                        .with_cause(std::make_error_code(std::errc::argument_list_too_long))));
    if (walls_) {
        answer = [directory = jupyter::message::field(message, "cwd"), program = program_of(message),
                  then = std::move(answer)](result<json> reply) mutable {
            if (!reply) reply = failure(with_name(reply.error(), directory, program));
            then(std::move(reply));
        };
        auto own = take_own_part(message, std::move(closed));
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
                                wait_handler([weak = weak_from_this()](asio::error_code) {
                                    auto const self = weak.lock();
                                    if (!self) return;
                                    self->sending_ = false;
                                    self->guarded([&] { self->flush(); });
                                }));
            return;
        case os::transfer::closed: outbox_.clear(); return; // reading sees the end and says why
        case os::transfer::failed: {
            // For want of descriptors or memory, say: the system's answer to this request alone.
            auto why = system_failure("sending to the supervisor", errno);
            auto unsent = answers_.extract(next.id);
            outbox_.pop_front();
            if (unsent) unsent.mapped()(failure(std::move(why)));
        }
        }
    }
}

IPYBOX_DECL void supervisor_core::await_control() {
    control_.async_wait(asio::posix::stream_descriptor::wait_read,
                        wait_handler([weak = weak_from_this()](asio::error_code cancelled) {
                            auto const self = weak.lock();
                            if (!self || cancelled) return;
                            self->guarded([&] {
                                if (self->read_control()) self->await_control();
                            });
                        }));
}

/// Handles what has arrived; false at the end.
IPYBOX_DECL bool supervisor_core::read_control() {
    for (int datagrams = 0; datagrams < most_datagrams; ++datagrams) {
        switch (os::receive_datagram(control_.native_handle(), datagram_, largest_datagram, arrived_)) {
        case os::transfer::done: dispatch(datagram_); break;
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
                               wait_handler([weak = weak_from_this()](asio::error_code cancelled) {
                                   auto const self = weak.lock();
                                   if (!self || cancelled) return;
                                   self->guarded([&] {
                                       if (self->read_standard_error()) self->await_standard_error();
                                   });
                               }));
}

/// Keeps the tail of what has arrived, no more than a pipe holds: who writes without end must not keep us. False at the
/// end.
IPYBOX_DECL bool supervisor_core::read_standard_error() {
    std::array<char, 4096> piece;
    for (int pieces = 0; pieces < 16; ++pieces) {
        auto const count = ::read(standard_error_.native_handle(), piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 && errno == EAGAIN;
        process_.keep_diagnostics({piece.data(), static_cast<std::size_t>(count)});
    }
    return true;
}

IPYBOX_DECL void supervisor_core::dispatch(std::string_view datagram) {
    auto message = read_supervisor_message(datagram);
    if (!message) return fail(std::move(message).error());
    std::visit([this](auto& what) { on(what); }, *message);
}

IPYBOX_DECL void supervisor_core::on(supervisor_message::answer& a) {
    auto const waiting = a.id ? answers_.find(*a.id) : answers_.end();
    if (waiting == answers_.end())
        return fail(error(errc::protocol_error, "the supervisor answered what was not asked"));
    auto answer = std::move(waiting->second);
    answers_.erase(waiting);
    answer(std::move(a.outcome));
}

IPYBOX_DECL void supervisor_core::on(supervisor_message::ready& r) {
    info_ = std::move(r.info);
    for (auto const& waiter : std::exchange(ready_waiters_, {})) (*waiter)(*info_);
}

IPYBOX_DECL void supervisor_core::on(supervisor_message::exited const& e) {
    auto status = e.status;
    auto const found = processes_.find(e.pid);
    if (found == processes_.end()) return;
    auto const ending = std::move(found->second);
    processes_.erase(found);
    if (ending->group && status.signal == SIGKILL) status.exceeded = ending->group->exceeded_memory();
    ending->let_go();
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
    for (auto& [id, answer] : std::exchange(answers_, {})) answer(failure(*failure_));
    for (auto const& [pid, ending] : std::exchange(processes_, {})) {
        ending->let_go();
        ending->status.emplace();
        for (auto& waiter : std::exchange(ending->waiters, {})) waiter(exit_status());
    }
}

/// End of file comes from the end of the process, which is a matter of microseconds.
IPYBOX_DECL void supervisor_core::on_end_of_control() {
    auto const say_why = [self = shared_from_this()](std::exception_ptr bug) {
        self->fail(bug ? error_of(bug) : self->end_of_control());
    };
    spawn(executor_, process_.ends(std::chrono::milliseconds(200)), say_why);
}

IPYBOX_DECL error supervisor_core::end_of_control() {
    auto const status = process_.end_status();
    if (!status) return error(errc::not_running, "the supervisor was ended");
    (void)read_standard_error();
    return end_of_supervisor(
        {*status, process_.goes_on(), info_.has_value(), diagnostics(), process_.program(), options_.python.string()});
}

} // namespace ipybox::detail
