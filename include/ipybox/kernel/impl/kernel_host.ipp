#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/blocked_signals.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/forked_away.hpp>
#include <ipybox/kernel/confinement.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/os/lies_in.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace ipybox {
namespace detail {

inline error no_search(std::exception_ptr const& bug) {
    auto const why = error_of(bug);
    return error(errc::kernel_start_failed, "no thread can be started to look for the interpreter, a limit of the "
                                            "system or of its container may be reached: " +
                                                why.text())
        .with_cause(why.cause());
}

} // namespace detail

IPYBOX_DECL kernel_host::kernel_host(asio::any_io_executor executor, supervisor_source options)
    : executor_(std::move(executor)), options_(std::make_shared<supervisor_source const>(std::move(options))) {}

IPYBOX_DECL kernel_host::kernel_host(supervisor_source options)
    : options_(std::make_shared<supervisor_source const>(std::move(options))) {}

IPYBOX_DECL kernel_host::kernel_host(std::shared_ptr<kernel_host> landlord, supervisor_source own)
    : landlord_(std::move(landlord)),
      options_(own ? std::make_shared<supervisor_source const>(std::move(own)) : nullptr) {}

IPYBOX_DECL kernel_host::~kernel_host() = default;

IPYBOX_DECL std::shared_ptr<kernel_host> kernel_host::share(std::shared_ptr<kernel_host> landlord,
                                                            supervisor_source own) {
    return std::shared_ptr<kernel_host>(new kernel_host(std::move(landlord), std::move(own)));
}

/// How a supervisor would be made now.
IPYBOX_DECL detail::supervisor_options kernel_host::wanted(source_ptr const& own, source_ptr const& landlord) {
    auto options = (landlord ? *landlord : *own)();
    if (landlord && own) detail::add_protection(options, (*own)());
    if (!options.host) options.host = os::host_programs::now();
    return options;
}

/// How the supervisor was made; none where there is none.
IPYBOX_DECL kernel_host::options_ptr kernel_host::made_with() {
    if (landlord_) return landlord_->made_with();
    std::scoped_lock const lock(mutex_);
    return made_with_;
}

IPYBOX_DECL std::filesystem::path kernel_host::working_dir() const {
    return wanted(options_, shared_options()).working_dir;
}

IPYBOX_DECL std::shared_ptr<os::host_programs const> kernel_host::programs() const {
    return wanted(options_, shared_options()).host;
}

IPYBOX_DECL std::function<launch_spec()> kernel_host::confinement() {
    return [made = made_with(), own = options_, landlord = shared_options()] {
        return detail::confinement_of(made ? *made : wanted(own, landlord));
    };
}

/// Refuses what an executor asks for and its runtime has otherwise, for all its kernels.
IPYBOX_DECL result<void> kernel_host::check_shared_options() const {
    if (!landlord_ || !options_) return {};
    auto const own = (*options_)();
    auto const shared = (*landlord_->options_)();
    auto const differs = [](std::string const& which) {
        return failure(errc::invalid_argument, which +
                                                   " of the executor is not what the executor's runtime has for all "
                                                   "its kernels: set it in the options of the runtime, or give the "
                                                   "executor a sandbox of its own");
    };
    auto const is_preloaded = [&](auto const& name) {
        return std::ranges::find(shared.preload, name) != shared.preload.end();
    };
    if (!own.cache_dir.empty() && !os::lies_in(own.cache_dir, own.working_dir))
        return failure(errc::invalid_argument,
                       "the directory of caches " + own.cache_dir.string() + " does not lie in the working directory " +
                           own.working_dir.string() + ", as those of a runtime's executors have to");
    if (own.packages && own.packages != shared.packages) return differs("kernel.packages");
    if (own.limits != sandbox_limits() && own.limits != shared.limits) return differs("sandbox.limits");
    if (!std::ranges::all_of(own.preload, is_preloaded)) return differs("kernel.preload");
    return {};
}

IPYBOX_DECL asio::awaitable<result<std::shared_ptr<kernel_host::supervisor>>> kernel_host::obtain() {
    if (!process_.is_this()) co_return failure(detail::forked_away());
    if (auto usable = check_shared_options(); !usable) co_return failure(usable);
    auto options = wanted(options_, shared_options());
    auto const made_before = made_with();
    // The mounts of a sandbox stay as they were made.
    if (!landlord_ && made_before && !detail::protects(*made_before, options)) {
        co_await release();
        options = wanted(options_, shared_options()); // placeholders have gone with it
    }
    if (auto there = present()) co_return there;
    auto python = co_await look_for_python(options);
    if (!python) co_return failure(python);
    options.python = std::move(*python);
    auto made = present_or(std::move(options));
    if (!made) co_return failure(errc::not_running);
    co_return made;
}

/// The supervisor, if there is one. A tenant's is a share of its landlord's.
IPYBOX_DECL std::shared_ptr<kernel_host::supervisor> kernel_host::present() {
    std::scoped_lock const lock(mutex_);
    if (supervisor_ || ended_ || !landlord_) return supervisor_;
    if (auto theirs = landlord_->present()) supervisor_ = supervisor::share(theirs);
    return supervisor_;
}

/// The supervisor, made if there is none; none where all has ended.
IPYBOX_DECL std::shared_ptr<kernel_host::supervisor> kernel_host::present_or(detail::supervisor_options options) {
    std::scoped_lock const lock(mutex_);
    if (supervisor_ || ended_) return ended_ ? nullptr : supervisor_;
    if (landlord_) {
        supervisor_ = supervisor::share(landlord_->present_or(std::move(options)));
        return supervisor_;
    }
    made_with_ = std::make_shared<detail::supervisor_options const>(options);
    if (executor_)
        supervisor_ = std::make_shared<supervisor>(*executor_, std::move(options));
    else
        supervisor_ = std::make_shared<supervisor>(std::move(options));
    return supervisor_;
}

/// On a thread of its own: a script in front of the interpreter is run, and takes its time.
IPYBOX_DECL asio::awaitable<result<std::filesystem::path>>
kernel_host::look_for_python(detail::supervisor_options const& options) {
    using found = result<std::filesystem::path>;
    auto const look = [this, &options](detail::completion<found> done) {
        // Shared, so that it is still there where no thread can be made.
        auto const answer = std::make_shared<detail::completion<found>>(std::move(done));
        auto search = [programs = options.host, wanted = options.python, bound = options.python_bound,
                       answer](std::stop_token stop) {
            auto python = found(failure(errc::not_running));
            try {
                python = find_python(*programs, wanted, bound, std::move(stop));
            } catch (...) { python = failure(detail::error_of(std::current_exception())); }
            (*answer)(std::move(python));
        };
        std::scoped_lock const lock(mutex_);
        if (ended_) return (*answer)(failure(errc::not_running));
        detail::blocked_signals const blocked;
        try {
            search_ = detail::process_ptr<std::jthread>(new std::jthread(std::move(search)));
        } catch (...) { (*answer)(failure(detail::no_search(std::current_exception()))); }
    };
    co_return co_await detail::await_completion<found>(look);
}

IPYBOX_DECL void kernel_host::abandon_search() {
    std::scoped_lock const lock(mutex_);
    if (search_) search_->request_stop();
}

IPYBOX_DECL asio::awaitable<void> kernel_host::release() {
    if (shares()) co_return;
    auto const leaving = supervisor_; // stays in place meanwhile, so that `end` reaches it
    if (!leaving) co_return;
    co_await leaving->ended();
    std::scoped_lock const lock(mutex_);
    if (supervisor_ != leaving) co_return;
    supervisor_.reset();
    made_with_.reset();
}

IPYBOX_DECL void kernel_host::end() {
    std::shared_ptr<kernel_host::supervisor> ending;
    detail::process_ptr<std::jthread> search;
    {
        std::scoped_lock const lock(mutex_);
        ended_ = true;
        search = std::move(search_);
        ending = supervisor_;
    }
    if (ending) ending->end();
}

} // namespace ipybox
