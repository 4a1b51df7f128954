// prints: asked on the thread of the window: yes
// prints: label: 3 files
// prints: progress: 100 %
// prints: the button ended it

#include <ipybox/approval.hpp>
#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

namespace {

//! [loop]
/// The loop of a window. `post` runs a function on its thread, from any thread; `every` runs one again and again, until
/// it returns false. In Qt these are QMetaObject::invokeMethod(window, work, Qt::QueuedConnection) and a QTimer.
class event_loop {
  public:
    void post(std::function<void()> work) {
        std::scoped_lock const lock(mutex_);
        waiting_.push_back(std::move(work));
        came_.notify_one();
    }

    void every(std::chrono::milliseconds period, std::function<bool()> work) {
        period_ = period;
        timer_ = std::move(work);
    }

    void run_until(bool const& done) {
        while (!done) {
            if (timer_ && !timer_()) timer_ = nullptr;
            run_posted();
        }
    }

  private:
    void run_posted() {
        std::unique_lock lock(mutex_);
        came_.wait_for(lock, period_, [this] { return !waiting_.empty(); });
        auto const posted = std::exchange(waiting_, {});
        lock.unlock();
        for (auto const& work : posted) work();
    }

    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<std::function<void()>> waiting_;
    std::chrono::milliseconds period_ = 20ms;
    std::function<bool()> timer_;
};
//! [loop]

} // namespace

int main() {
    auto const window = std::this_thread::get_id();
    event_loop loop;

    //! [ask]
    ipybox::executor_options options;
    options.approval.shell_cmds = true;
    // Called on the executor's own thread: hand the request to the window and return. The code waits; the window does
    // not.
    auto const ask = [&](ipybox::approval_request request) {
        loop.post([&, request = std::move(request)] {
            auto const here = std::this_thread::get_id() == window;
            std::cout << "asked on the thread of the window: " << (here ? "yes" : "no") << '\n';
            request.accept(); // a dialog would keep the request, and answer it when a button is pressed
        });
    };
    ipybox::executor box(options, ask);
    //! [ask]

    auto done = false;
    auto failed = false;
    //! [execute]
    // Returns at once. The handler runs on the executor's own thread, and posts the result to the window.
    box.async_execute("files = !printf 'a\\nb\\nc\\n'\nprint(len(files), 'files')",
                      [&](ipybox::result<ipybox::execution_result> result) {
                          loop.post([&, result = std::move(result)] {
                              if (result)
                                  std::cout << "label: " << result->text << '\n';
                              else
                                  std::cerr << result.error() << '\n';
                              failed = !result;
                              done = true;
                          });
                      });
    //! [execute]
    loop.run_until(done);
    if (failed) return 1;

    //! [timer]
    // For output while the code runs: a job, and a timer of the window that takes what is new. No call of these blocks.
    ipybox::job const work = box.submit("for i in range(0, 101, 50): print('progress:', i, '%', flush=True)");
    std::uint64_t position = 0;
    done = false;
    loop.every(20ms, [&] {
        done = work.state() == ipybox::job::stage::ended;
        auto const more = work.output(position);
        position = more.to;
        std::cout << more.text;
        return !done;
    });
    //! [timer]
    loop.run_until(done);

    //! [cancel]
    ipybox::job const endless = box.submit("while True: pass");
    // A button of the window. `cancel` returns at once; the job ends soon after.
    loop.post([&] { endless.cancel(); });
    endless.async_wait(60s, [&](bool ended) {
        loop.post([&, ended] {
            if (ended) std::cout << "the button ended it\n";
            done = true;
        });
    });
    //! [cancel]
    done = false;
    loop.run_until(done);
}
