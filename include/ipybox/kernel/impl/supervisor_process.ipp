#pragma once

#include <ipybox/async/wait_handler.hpp>
#include <ipybox/core/text_tail.hpp>
#include <ipybox/kernel/impl/supervisor_process.hpp>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL result<void> supervisor_process::adopt(launched_supervisor& started) {
    std::scoped_lock const lock(mutex_);
    if (ended_) return failure(errc::not_running, "the supervisor was ended before it started");
    kept_ = std::move(started.kept);
    groups_ = std::move(started.groups);
    process_ = std::move(started.process);
    program_ = std::move(started.program);
    lifeline_ = std::move(started.lifeline);
    control_switch_ = os::make_unforked([&] { return ::fcntl(started.control.get(), F_DUPFD_CLOEXEC, 0); });
    if (!control_switch_) {
        auto why = system_failure("a descriptor for the supervisor", errno);
        process_ = os::process();
        return failure(std::move(why));
    }
    return {};
}

IPYBOX_DECL void supervisor_process::begin_end() {
    std::scoped_lock const lock(mutex_);
    ended_ = true;
    // A shutdown, unlike a close, is seen by the other end even while our own reactor still holds the socket.
    if (control_switch_) (void)::shutdown(control_switch_.get(), SHUT_RDWR);
}

IPYBOX_DECL void supervisor_process::end(std::chrono::milliseconds patience) {
    if (!owner_.is_this()) return;
    begin_end();
    std::scoped_lock const lock(mutex_);
    if (process_.wait(patience))
        process_.signal_group(SIGKILL); // a bwrap that was killed as it began has left its child behind
    else
        process_ = os::process(); // its destructor kills the whole tree
    kept_.reset();
    groups_.reset();
    control_switch_.reset();
    lifeline_.reset();
}

IPYBOX_DECL asio::awaitable<void> supervisor_process::ends(std::chrono::milliseconds bound) {
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
    wait->limit.async_wait(wait_handler([weak = std::weak_ptr(wait)](asio::error_code cancelled) {
        asio::error_code ignored;
        if (auto const late = weak.lock(); late && !cancelled) late->end.cancel(ignored);
    }));
    asio::error_code late;
    auto const until = wait->limit.expiry();
    do {
        co_await wait->end.async_wait(asio::posix::stream_descriptor::wait_read,
                                      asio::redirect_error(asio::use_awaitable, late));
    } while (!late && !os::has_ended(wait->end.native_handle()) && std::chrono::steady_clock::now() < until);
    wait->limit.cancel();
}

IPYBOX_DECL void supervisor_process::kill() {
    std::scoped_lock const lock(mutex_);
    process_ = os::process();
}

IPYBOX_DECL std::optional<exit_status> supervisor_process::end_status() {
    std::scoped_lock const lock(mutex_);
    if (ended_) return std::nullopt;
    return process_.wait(std::chrono::milliseconds(0)).value_or(exit_status());
}

IPYBOX_DECL bool supervisor_process::goes_on() {
    std::scoped_lock const lock(mutex_);
    return !ended_ && process_.descriptor() >= 0 && !process_.wait(std::chrono::milliseconds(0));
}

IPYBOX_DECL void supervisor_process::keep_diagnostics(std::string_view said) {
    std::scoped_lock const lock(mutex_);
    append_tail(diagnostics_, said, diagnostics_size);
}

IPYBOX_DECL std::string supervisor_process::diagnostics() const {
    std::scoped_lock const lock(mutex_);
    return diagnostics_;
}

IPYBOX_DECL std::string supervisor_process::program() const {
    std::scoped_lock const lock(mutex_);
    return program_;
}

IPYBOX_DECL std::shared_ptr<supervisor_cgroups> supervisor_process::groups() const {
    std::scoped_lock const lock(mutex_);
    return groups_;
}

} // namespace ipybox::detail
