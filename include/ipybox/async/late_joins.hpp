#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

namespace ipybox::detail {

/**
 * \brief Threads that let go of themselves, where nobody can wait for them.
 * \details Each is joined by a helper as soon as it ends. The end of the program waits for the rest, within a bound: what they still do must not meet
 * libraries that are being torn down.
 */
class late_joins {
  public:
    static void add(std::thread leaving) {
        static auto* const all = new late_joins; // helpers may outlast the program's end
        static end_of_program const waits{*all};
        std::unique_lock lock(all->mutex_);
        auto const entry = all->threads_.insert(all->threads_.end(), leaving.get_id());
        lock.unlock();
        std::thread([entry, leaving = std::move(leaving)]() mutable {
            leaving.join();
            std::scoped_lock const joined(all->mutex_);
            all->threads_.erase(entry);
            all->changed_.notify_all();
        }).detach();
    }

  private:
    static constexpr std::chrono::seconds bound{2};

    struct end_of_program {
        late_joins& all;
        ~end_of_program() { all.wait(); }
    };

    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, bound, [this] {
            // exit() may have been called by one of them
            return threads_.empty() || (threads_.size() == 1 && threads_.front() == std::this_thread::get_id());
        });
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<std::thread::id> threads_;
};

} // namespace ipybox::detail
