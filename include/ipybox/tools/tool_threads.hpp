#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/owning_process.hpp>

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
#include <vector>

namespace ipybox::detail {

/**
 * \brief Threads that host tools run on. One is made when all are busy; one that has nothing to do waits for more, a
 * few of them at most.
 * \details A function may never return, so nothing waits for these threads without a bound. The end joins all others: a
 * thread that is still in a function then is left to itself, with what it touches. A thread whose call has ended no
 * longer counts, so that functions which hang keep no tool from running, up to a bound.
 * \par Thread safety Safe.
 */
class tool_threads {
  public:
    /// Functions of calls that have not ended run at once on so many threads; what else is to be run waits.
    static constexpr std::size_t most_threads = 64;

    /// As many threads may be in functions whose calls have ended.
    static constexpr std::size_t most_stuck = 64;

    /// The functions to be run. None of it may throw; `has_ended` is called with a lock held.
    struct work {
        std::function<void()> run;
        std::function<bool()> has_ended = [] { return false; }; ///< whether its call has ended
        std::function<void()> refuse = [] {};                   ///< called instead, where no thread will come free
    };

    tool_threads() = default;
    tool_threads(tool_threads const&) = delete;
    tool_threads& operator=(tool_threads const&) = delete;
    ~tool_threads();

    /// Runs work; false after the end. Throws where there is no thread and none can be made.
    [[nodiscard]] bool run(work what);

    /// A call has ended: work that waits may take the place of its thread.
    void call_ended();

    /// Drops what waits and ends the threads that have nothing to do.
    void end();

    /// Counts what runs elsewhere, while it runs in the calling thread.
    class running;

    /// Whether the calling thread is in one of the functions.
    [[nodiscard]] bool runs_here() const;

    /// Waits until nothing runs but what the calling thread runs itself; false where the bound passed first. Joins
    /// the threads that have ended.
    bool wait(std::chrono::milliseconds bound);

  private:
    /// The work of a thread.
    struct busy {
        std::size_t functions = 0; ///< that it is in: one may call another
        std::function<bool()> has_ended;
    };

    /// Shared with the threads, which may outlive the object.
    struct state {
        std::mutex mutex;
        std::condition_variable work_came;
        std::condition_variable work_ended;
        std::deque<work> waiting;
        std::map<std::thread::id, std::thread> threads;
        std::vector<std::thread> leaving; ///< they are about to end
        std::size_t idle = 0;
        std::map<std::thread::id, busy> in_functions;
        bool ended = false;
    };
    using state_ptr = std::shared_ptr<state>;

    static constexpr std::size_t most_idle = 4;

    static void serve(state_ptr const& shared);
    static void enter(state& shared, std::function<bool()> has_ended);
    static void leave(state& shared);
    [[nodiscard]] static std::size_t places(state const& shared);
    [[nodiscard]] static bool is_full_of_stuck(state const& shared);
    static void add_thread(state_ptr const& shared);
    static void join(std::vector<std::thread> threads);

    owning_process const owner_;
    state_ptr const state_ = std::make_shared<state>();
};

class tool_threads::running {
  public:
    explicit running(tool_threads const& threads);
    running(running const&) = delete;
    running& operator=(running const&) = delete;
    ~running();

  private:
    state_ptr const shared_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/tool_threads.ipp>
#endif
