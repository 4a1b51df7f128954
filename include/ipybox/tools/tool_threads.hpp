#pragma once

#include <ipybox/core/config.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace ipybox::detail {

/**
 * \brief Threads that host tools run on. One is made when all are busy; one that has nothing to do waits for more, a
 * few of them at most.
 * \details A function may never return, so nothing waits for these threads without a bound. They own what they touch.
 * \par Thread safety Safe.
 */
class tool_threads {
    /// Shared with the threads, which may outlive the object.
    struct state {
        std::mutex mutex;
        std::condition_variable work_came;
        std::condition_variable work_ended;
        std::deque<std::function<void()>> waiting;
        std::size_t threads = 0;
        std::size_t idle = 0;
        std::map<std::thread::id, std::size_t> busy; ///< how many functions each thread is in
        bool ended = false;
    };

  public:
    /// So many run at once; what else is to be run waits.
    static constexpr std::size_t most_threads = 64;

    tool_threads() = default;
    tool_threads(tool_threads const&) = delete;
    tool_threads& operator=(tool_threads const&) = delete;
    ~tool_threads() { end(); }

    /// Runs work, which must not throw; false after the end. Throws where there is no thread and none can be made.
    [[nodiscard]] bool run(std::function<void()> work);

    /// Drops what waits and ends the threads that have nothing to do.
    void end();

    /// Counts what runs elsewhere, while it runs in the calling thread.
    class running {
      public:
        explicit running(tool_threads const& threads);
        running(running const&) = delete;
        running& operator=(running const&) = delete;
        ~running();

      private:
        std::shared_ptr<state> const shared_;
    };

    /// Whether the calling thread is in one of the functions.
    [[nodiscard]] bool runs_here() const;

    /// Waits until nothing runs but what the calling thread runs itself; false where the bound passed first.
    bool wait(std::chrono::milliseconds bound) const;

  private:
    using state_ptr = std::shared_ptr<state>;

    static constexpr std::size_t most_idle = 4;

    static void serve(state_ptr const& shared);
    static void enter(state& shared);
    static void leave(state& shared);

    state_ptr const state_ = std::make_shared<state>();
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/tool_threads.ipp>
#endif
