#pragma once

#include <ipybox/transport/impl/zmq_link.hpp>

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::unique_ptr<zmq_socket> zmq_link::connect(channel c, std::string const& identity, int retry_ms,
                                                          bool monitored) {
    auto const type = c == channel::iopub ? zmq::socket_type::sub : zmq::socket_type::dealer;
    auto made = std::make_unique<zmq_socket>(context_, type, executor_);
    auto& native = made->native();
    if (c == channel::iopub)
        native.set(zmq::sockopt::subscribe, "");
    else
        native.set(zmq::sockopt::routing_id, identity);
    native.set(zmq::sockopt::reconnect_ivl, retry_ms);
    if (info_.protocol == jupyter::detail::socket_protocol::tcp) {
        native.set(zmq::sockopt::ipv6, info_.ip.find(':') != std::string::npos ? 1 : 0);
        native.set(zmq::sockopt::tcp_keepalive, 1); // the end of a machine is seen, too
    }
    if (!info_.curve_publickey.empty()) {
        // The file holds one pair of keys, which both sides use (jupyter_client.connect).
        native.set(zmq::sockopt::curve_secretkey, info_.curve_secretkey);
        native.set(zmq::sockopt::curve_publickey, info_.curve_publickey);
        native.set(zmq::sockopt::curve_serverkey, info_.curve_publickey);
    }
    if (monitored) {
        auto& monitor = c == channel::iopub ? iopub_monitor_ : shell_monitor_;
        monitor =
            std::make_unique<zmq_monitor>(context_, *made, "monitor-" + std::to_string(static_cast<int>(c)), executor_);
    }
    native.connect(info_.address(c));
    return made;
}

IPYBOX_DECL result<void> zmq_link::open_probe() {
    try {
        // A connection refused is repeated after a millisecond: this socket lives only until the kernel is there.
        sockets_[static_cast<std::size_t>(channel::shell)] = connect(channel::shell, session_ + "-probe", 1, false);
        return {};
    } catch (std::exception const& e) {
        return failure(errc::io_error, "connecting to " + info_.address(channel::shell) + ": " + e.what());
    }
}

IPYBOX_DECL result<void> zmq_link::open() {
    try {
        // A lost connection is not renewed: its kernel is gone. Reconnecting "never" (-1) would make libzmq drop what
        // has arrived and was not yet read, so the interval is out of reach instead.
        for (auto const c : {channel::iopub, channel::shell, channel::stdin_, channel::control}) {
            // Kernels address requests for input by the identity that the shell request came from.
            sockets_[static_cast<std::size_t>(c)] =
                connect(c, session_, day, c == channel::iopub || c == channel::shell);
        }
        return {};
    } catch (std::exception const& e) {
        return failure(errc::io_error, "connecting to " + info_.address(channel::shell) + ": " + e.what());
    }
}

IPYBOX_DECL void zmq_link::close() noexcept {
    closed_ = true;
    shell_monitor_.reset();
    iopub_monitor_.reset();
    for (auto& socket : sockets_) socket.reset();
    knocking_.reset();
    held_.clear();
    notify();
}

IPYBOX_DECL void zmq_link::process_ended(exit_status status) {
    exit_ = status;
    notify();
}

IPYBOX_DECL void zmq_link::give_up(error why) {
    given_up_ = std::move(why);
    notify();
}

IPYBOX_DECL void zmq_link::notify() {
    for (auto* const timer : waiting_) timer->cancel();
}

IPYBOX_DECL void zmq_link::arm() {
    auto const wake = [weak = weak_from_this()] {
        if (auto const self = weak.lock()) self->notify();
    };
    for (auto& socket : sockets_)
        if (socket) socket->arm(wake);
    if (shell_monitor_) shell_monitor_->arm(wake);
    if (iopub_monitor_) iopub_monitor_->arm(wake);
}

/// Waits until something may have changed.
IPYBOX_DECL asio::awaitable<void> zmq_link::change(clock::time_point deadline) {
    arm();
    waiter own(waiting_, executor_, deadline);
    asio::error_code cancelled;
    co_await own.timer.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
}

/// Lets others on this executor have their turn when there is more to be taken; else waits for that.
IPYBOX_DECL asio::awaitable<void> zmq_link::next(bool more, clock::time_point deadline) {
    if (more)
        co_await asio::post(executor_, asio::use_awaitable);
    else
        co_await change(deadline);
}

/// Takes the next message of a channel that is not the link's own business.
IPYBOX_DECL std::optional<result<jupyter::message>> zmq_link::take(channel c) {
    while (auto* const from = socket(c)) {
        if (!from->take(frames_, limits_.frames + 1)) return std::nullopt;
        views_.clear();
        for (auto const& frame : frames_) views_.push_back(frame.to_string_view());
        auto m = jupyter::from_wire(c, views_, signer_, limits_);
        frames_.clear();
        if (!m) return m;
        if (c == channel::iopub) heard_iopub_ = true;
        auto const own = keep_own(*m);
        if (!own) return failure(own.error());
        if (!*own) return m;
    }
    return std::nullopt;
}

/// The same of all channels, each of them first in turn, so that none can keep the others waiting.
IPYBOX_DECL std::optional<result<jupyter::message>> zmq_link::take_any() {
    auto const first = turn_++;
    for (std::size_t i = 0; i < channels; ++i)
        if (auto m = take(static_cast<channel>((first + i) % channels))) return m;
    return std::nullopt;
}

/// Whether a message belongs to a request of the link's own.
IPYBOX_DECL result<bool> zmq_link::keep_own(message& m) {
    using kind = zmq_own_requests::kind;
    auto const what = own_.take(m);
    if (what == kind::taken) notify();
    if (what != kind::one_too_many) return what != kind::foreign;
    return failure(errc::protocol_error, "the kernel answered one request more than " +
                                             std::to_string(zmq_own_requests::most_answers) + " times");
}

IPYBOX_DECL result<void> zmq_link::state() const {
    if (closed_) return failure(errc::not_running, "the transport has been stopped");
    bool const cut = (shell_monitor_ && shell_monitor_->down()) || (iopub_monitor_ && iopub_monitor_->down());
    if (exit_ || cut || given_up_) return failure(death());
    return {};
}

IPYBOX_DECL error zmq_link::death() const {
    if (given_up_) return *given_up_;
    auto const status = exit_.value_or(exit_status());
    auto const how = exit_ && (status.code || status.signal) ? "the kernel ended: " + to_string(status)
                                                             : std::string("the kernel closed its connection");
    return error(errc::kernel_died, how).with_status(status);
}

/// Whether the kernel has ended and everything it sent has arrived, which is so once its connections are closed.
IPYBOX_DECL bool zmq_link::over() {
    if (given_up_) return true;
    if (!shell_monitor_ || !iopub_monitor_) return exit_.has_value();
    shell_monitor_->look();
    iopub_monitor_->look();
    bool const closed = shell_monitor_->down() && iopub_monitor_->down();
    bool const any = shell_monitor_->down() || iopub_monitor_->down() || exit_;
    if (closed && (exit_ || !own_process_)) return true;
    if (!any) return false;
    // A process that lost its connections ends, and connections of a process that ended close: this does not take long.
    if (!dying_) dying_ = clock::now() + std::chrono::seconds(1);
    return clock::now() >= *dying_;
}

IPYBOX_DECL asio::awaitable<result<jupyter::message>> zmq_link::receive() {
    auto const self = shared_from_this();
    // Many messages at once must not keep other work on this executor waiting.
    if (turn_ % 64 == 63) co_await asio::post(executor_, asio::use_awaitable);
    for (;;) {
        if (closed_) co_return failure(errc::not_running, "the transport has been stopped");
        if (!held_.empty()) {
            result<message> m(std::move(held_.front()));
            held_.pop_front();
            co_return m;
        }
        bool const last = over(); // before the look: what comes in between is not missed
        if (auto m = take_any()) co_return std::move(*m);
        if (last) co_return failure(death());
        co_await change(dying_.value_or(clock::time_point::max()));
    }
}

IPYBOX_DECL result<void> zmq_link::send(message m) {
    if (auto const good = state(); !good) return good;
    if (m.on == channel::iopub) return failure(errc::invalid_argument, "nothing can be sent on the iopub channel");
    auto* const to = socket(m.on);
    if (to == nullptr) return failure(errc::not_running, "the transport is not connected");
    if (m.session.empty()) m.session = session_;
    auto const frames = jupyter::to_wire(m, signer_);
    if (!to->put(frames)) return failure(errc::kernel_died, "the kernel is not connected any more");
    // Sending may have used up the notice that something arrived.
    notify();
    return {};
}

IPYBOX_DECL void zmq_link::poke() {
    message m(channel::shell, "kernel_info_request", nlohmann::json::object());
    m.id = own_.next_sign_of_life();
    (void)send(std::move(m));
}

IPYBOX_DECL void zmq_link::knock() {
    try {
        knocking_ = connect(channel::shell, own_.next_id(), day, false);
    } catch (std::exception const&) {
        knocking_.reset(); // what is the matter with the kernel is found out elsewhere
    }
}

IPYBOX_DECL asio::awaitable<result<void>> zmq_link::sign_of_life(clock::time_point deadline) {
    auto const self = shared_from_this();
    auto const came = [self] { return self->own_.is_alive(); };
    auto waiting = hold_until(channel::shell, came, deadline);
    co_return co_await std::move(waiting);
}

IPYBOX_DECL asio::awaitable<result<void>> zmq_link::connected(clock::time_point deadline) {
    auto const self = shared_from_this();
    for (;;) {
        if (auto good = state(); !good) co_return good;
        shell_monitor_->look();
        iopub_monitor_->look();
        for (auto const c : {channel::shell, channel::iopub}) {
            auto const& monitor = c == channel::shell ? shell_monitor_ : iopub_monitor_;
            if (monitor->refused())
                co_return failure(errc::kernel_start_failed,
                                  "no kernel answers at " + info_.address(c) + ": the connection was refused");
        }
        if (shell_monitor_->up() && iopub_monitor_->up()) co_return result<void>();
        if (clock::now() >= deadline)
            co_return failure(errc::kernel_unresponsive,
                              "no connection to " + info_.address(channel::shell) + " within the bound");
        co_await change(deadline);
    }
}

IPYBOX_DECL asio::awaitable<result<jupyter::message>> zmq_link::ask(message request, clock::time_point deadline) {
    auto const self = shared_from_this();
    request.id = own_.next_id();
    zmq_own_requests::expected_reply const expected(own_, request.id);
    if (auto sent = send(std::move(request)); !sent) co_return failure(sent);
    for (;;) {
        bool const last = over();
        auto more = drop_some();
        if (!more) co_return failure(more);
        if (auto& reply = expected.get()) co_return result<message>(std::move(*reply));
        if (auto good = state(); !good) co_return failure(good);
        if (last) co_return failure(death());
        if (clock::now() >= deadline)
            co_return failure(errc::kernel_unresponsive, "the kernel did not answer within the bound");
        co_await next(*more, std::min(deadline, dying_.value_or(deadline)));
    }
}

/// Drops what comes on any channel and is not for the link itself. Whether there may be more.
IPYBOX_DECL result<bool> zmq_link::drop_some() {
    for (int i = 0; i < most_in_one_turn; ++i) {
        auto m = take_any();
        if (!m) return false;
        if (!*m) return failure(*m);
    }
    return true;
}

IPYBOX_DECL asio::awaitable<result<bool>> zmq_link::hears_iopub(clock::time_point deadline) {
    auto const self = shared_from_this();
    for (;;) {
        auto more = drop_some();
        if (!more) co_return failure(more);
        if (auto good = state(); !good) co_return failure(good);
        if (heard_iopub_ || clock::now() >= deadline) co_return heard_iopub_;
        co_await next(*more, deadline);
    }
}

IPYBOX_DECL asio::awaitable<result<void>> zmq_link::ask_beside(channel on, std::string type,
                                                               clock::time_point deadline) {
    auto const self = shared_from_this();
    message request(on, std::move(type), nlohmann::json::object());
    request.id = own_.next_id();
    zmq_own_requests::expected_reply const expected(own_, request.id);
    if (auto sent = send(std::move(request)); !sent) co_return sent;
    auto const answered = [&] { return expected.get().has_value(); };
    auto waiting = hold_until(on, answered, deadline);
    co_return co_await std::move(waiting);
}

IPYBOX_DECL result<void> zmq_link::hold(channel on) {
    while (auto m = take(on)) {
        if (!*m) return failure(*m);
        if (held_.size() == most_held)
            return failure(errc::protocol_error, "the kernel sent more than " + std::to_string(most_held) +
                                                     " messages instead of the answer to a request");
        held_.push_back(std::move(**m));
    }
    return {};
}

/// Takes what comes on a channel, for `receive`, until something is the case.
IPYBOX_DECL asio::awaitable<result<void>> zmq_link::hold_until(channel on, std::function<bool()> reached,
                                                               clock::time_point deadline) {
    for (;;) {
        if (auto kept = hold(on); !kept) {
            give_up(kept.error());
            co_return kept;
        }
        if (reached()) co_return result<void>();
        if (auto good = state(); !good) co_return good;
        if (clock::now() >= deadline)
            co_return failure(errc::kernel_unresponsive, "the kernel did not answer within the bound");
        co_await change(deadline);
    }
}

} // namespace ipybox::detail
