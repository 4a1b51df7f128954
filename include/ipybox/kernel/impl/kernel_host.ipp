#pragma once

#include <ipybox/async/blocked_signals.hpp>
#include <ipybox/async/suspend.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/forked_away.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/kernel/kernel_host.hpp>

#include <exception>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL kernel_host::kernel_host(asio::any_io_executor executor, std::function<supervisor_options()> own,
                                     std::shared_ptr<supervisor> const& shared)
    : executor_(std::move(executor)), own_(std::move(own)), shares_(shared != nullptr),
      supervisor_(shared ? supervisor::share(shared) : nullptr) {}

IPYBOX_DECL kernel_host::~kernel_host() = default;

IPYBOX_DECL asio::awaitable<result<std::shared_ptr<supervisor>>> kernel_host::obtain() {
    if (!owner_.is_this()) co_return failure(forked_away());
    if (supervisor_) co_return supervisor_;
    auto options = own_();
    auto python = co_await look_for_python(options.python);
    if (!python) co_return failure(python);
    options.python = std::move(*python);
    std::scoped_lock const lock(mutex_);
    if (ended_) co_return failure(errc::not_running);
    supervisor_ = std::make_shared<supervisor>(executor_, std::move(options));
    co_return supervisor_;
}

inline error no_search(std::exception_ptr const& bug) {
    auto const why = error_of(bug);
    return error(errc::kernel_start_failed, "no thread can be started to look for the interpreter, a limit of the "
                                            "system or of its container may be reached: " +
                                                why.text())
        .with_cause(why.cause());
}

/// On a thread of its own: a script in front of the interpreter is run, and takes its time.
IPYBOX_DECL asio::awaitable<result<std::filesystem::path>> kernel_host::look_for_python(std::filesystem::path wanted) {
    using found = result<std::filesystem::path>;
    auto const look = [this, &wanted](completion<found> done) {
        // Shared, so that it is still there where no thread can be made.
        auto const answer = std::make_shared<completion<found>>(std::move(done));
        auto search = [wanted, answer](std::stop_token stop) {
            auto python = found(failure(errc::not_running));
            try {
                python = find_python(wanted, std::move(stop));
            } catch (...) { python = failure(error_of(std::current_exception())); }
            (*answer)(std::move(python));
        };
        std::scoped_lock const lock(mutex_);
        if (ended_) return (*answer)(failure(errc::not_running));
        blocked_signals const blocked;
        try {
            search_ = process_ptr<std::jthread>(new std::jthread(std::move(search)));
        } catch (...) { (*answer)(failure(no_search(std::current_exception()))); }
    };
    co_return co_await suspend<found>(look);
}

IPYBOX_DECL void kernel_host::abandon_search() {
    std::scoped_lock const lock(mutex_);
    if (search_) search_->request_stop();
}

IPYBOX_DECL asio::awaitable<void> kernel_host::release() {
    if (shares_) co_return;
    auto const leaving = supervisor_; // stays in place meanwhile, so that `end` reaches it
    if (!leaving) co_return;
    co_await leaving->ended();
    std::scoped_lock const lock(mutex_);
    if (supervisor_ == leaving) supervisor_.reset();
}

IPYBOX_DECL void kernel_host::end() {
    std::shared_ptr<supervisor> ending;
    process_ptr<std::jthread> search;
    {
        std::scoped_lock const lock(mutex_);
        ended_ = true;
        search = std::move(search_);
        ending = supervisor_;
    }
    if (ending) ending->end();
}

} // namespace ipybox::detail
