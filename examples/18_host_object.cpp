// prints: arm at 3, 4 after 2 moves
// prints: one thread moved it: yes

#include <ipybox/ipybox.hpp>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <iostream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace {

/// The only loop of the application, as that of a window or a game: everything that is shown belongs to its thread.
class event_loop {
  public:
    void post(std::function<void()> work) {
        std::scoped_lock const lock(mutex_);
        waiting_.push_back(std::move(work));
        came_.notify_one();
    }

    void run() {
        while (!quits_) {
            std::unique_lock lock(mutex_);
            came_.wait(lock, [this] { return !waiting_.empty(); });
            auto const work = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            work();
        }
    }

    void quit() {
        post([this] { quits_ = true; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<std::function<void()>> waiting_;
    bool quits_ = false;
};

/// An object of the application, without locks: it belongs to the loop.
class robot_arm {
  public:
    void move(double x, double y) {
        x_ += x;
        y_ += y;
        ++moves_;
        threads_.insert(std::this_thread::get_id());
    }

    [[nodiscard]] std::string where() const {
        return "arm at " + std::to_string(int(x_)) + ", " + std::to_string(int(y_)) + " after " +
               std::to_string(moves_) + " moves";
    }

    [[nodiscard]] bool moved_by_one_thread() const {
        return threads_ == std::set<std::thread::id>{std::this_thread::get_id()};
    }

  private:
    double x_ = 0;
    double y_ = 0;
    int moves_ = 0;
    std::set<std::thread::id> threads_;
};

} // namespace

int main() {
    std::filesystem::path const dir = "build/examples/host_object";
    std::filesystem::create_directories(dir);

    event_loop loop;
    robot_arm arm;
    ipybox::executor_options options;
    options.working_dir = dir;
    options.approval.tool_calls = false;
    ipybox::executor box(options);

    //! [loop]
    // Where the functions are called: anything that has work done in the loop. With Qt that is
    // `[window](auto work) { QMetaObject::invokeMethod(window, work); }`, with Asio an executor.
    auto const in_loop = [&](std::function<void()> work) { loop.post(std::move(work)); };
    //! [loop]

    //! [tools]
    // Several functions under one name: code imports them from `mcptools.arm`.
    ipybox::host_tools tools("arm", {.executor = in_loop});
    tools.add("move", "Moves the arm by so much", {"x", "y"}, ipybox::host_tool::method(arm, &robot_arm::move));
    tools.add("where", "Says where the arm is", ipybox::host_tool::method(arm, &robot_arm::where));
    auto added = box.add_tools(tools);
    if (added) {
        auto const made = box.generate_mcp_sources("arm", dir / "mcptools");
        if (!made) added = ipybox::failure(made.error());
    }
    //! [tools]
    if (!added) {
        std::cerr << added.error() << '\n';
        return 1;
    }

    // The loop's thread waits for nothing but its work; the code runs meanwhile.
    bool well = false;
    box.async_execute(
        "from mcptools import arm\narm.move.run(x=1, y=1)\narm.move.run(x=2, y=3)\nprint(arm.where.run())",
        [&](ipybox::result<ipybox::execution_result> result) {
            well = result.has_value();
            if (result)
                std::cout << result->text << '\n';
            else
                std::cerr << result.error() << '\n';
            loop.quit();
        });
    loop.run();
    std::cout << "one thread moved it: " << (arm.moved_by_one_thread() ? "yes" : "no") << '\n';
    return well ? 0 : 1;
}
