#pragma once

#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/dispatch.hpp>
#include <asio/post.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace ipybox::detail {

/**
 * \brief A handler that tells whether its executor is run, and by which thread.
 * \details An executor cannot be asked which threads run it: a strand, a pool and one that tracks work all hide their
 * context.
 */
class probe {
  public:
    enum class outcome { inline_here, elsewhere, not_run };

    /// Hands the probe to an executor, which may run it at once, and waits no longer than the bound for another thread
    /// to do so.
    [[nodiscard]] static outcome dispatch(asio::any_io_executor const& executor, std::chrono::milliseconds bound) {
        auto const sent = std::make_shared<probe>();
        asio::dispatch(executor, [sent] { sent->on_run(); });
        return sent->wait(bound);
    }

    /// The same, where the executor never runs it at once.
    [[nodiscard]] static outcome post(asio::any_io_executor const& executor, std::chrono::milliseconds bound) {
        auto const sent = std::make_shared<probe>();
        asio::post(executor, [sent] { sent->on_run(); });
        return sent->wait(bound);
    }

  private:
    void on_run() {
        std::scoped_lock const lock(mutex_);
        where_ = std::this_thread::get_id();
        ran_.notify_all();
    }

    outcome wait(std::chrono::milliseconds bound) {
        std::unique_lock lock(mutex_);
        if (!ran_.wait_for(lock, bound, [this] { return where_ != std::thread::id(); })) return outcome::not_run;
        return where_ == std::this_thread::get_id() ? outcome::inline_here : outcome::elsewhere;
    }

    std::mutex mutex_;
    std::condition_variable ran_;
    std::thread::id where_;
};

} // namespace ipybox::detail
