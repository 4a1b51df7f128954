#pragma once

#include <ipybox/core/delete_in_owner.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/kernel/supervisor.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace ipybox::detail {

/**
 * \brief Where one session's kernels live: a supervisor of its own, made when it is first needed, or a share of another owner's.
 * \details Looks for the interpreter, makes the supervisor, replaces one that has ended, and lets go of it.
 * \par Thread safety `end` and `abandon_search` may be called from any thread; the rest belongs to the executor.
 */
class kernel_host {
  public:
    /// `own` says how a supervisor is to be made, when it is; its `python` is what was asked for, and looked for first. With a `shared` one it is not called.
    kernel_host(asio::any_io_executor executor, std::function<supervisor_options()> own,
                std::shared_ptr<supervisor> const& shared);
    kernel_host(kernel_host const&) = delete;
    kernel_host& operator=(kernel_host const&) = delete;
    ~kernel_host();

    [[nodiscard]] bool shares() const noexcept { return shares_; }

    /// The supervisor; makes it if there is none. \par Errors those of `find_python`; errc::not_running — ended, or given up, or in a fork
    asio::awaitable<result<std::shared_ptr<supervisor>>> obtain();

    /// The search for the interpreter is not waited for any more.
    void abandon_search();

    /// Lets go of a supervisor of its own, and waits until it has ended, within its bound.
    asio::awaitable<void> release();

    /// Ends a supervisor of its own, or the processes that were started in a shared one; nothing is made afterwards.
    void end();

  private:
    asio::awaitable<result<std::filesystem::path>> look_for_python(std::filesystem::path wanted);

    asio::any_io_executor const executor_;
    std::function<supervisor_options()> const own_;
    bool const shares_;

    owning_process const owner_;
    std::mutex mutex_;
    std::shared_ptr<supervisor> supervisor_;
    process_ptr<std::jthread> search_; ///< none until there is one
    bool ended_ = false;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/kernel_host.ipp>
#endif
