#include <cli/interrupts.hpp>

#include <signal.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <system_error>
#include <utility>

namespace ipybox::cli {

using namespace std::chrono_literals;

/// The end of the start, or of the wait for it: the first one counts.
class interrupts::first_outcome {
  public:
    using value = std::optional<result<void>>;

    void set(value outcome) {
        if (!taken_.test_and_set()) outcome_.set_value(std::move(outcome));
    }

    value wait() { return outcome_.get_future().get(); }

  private:
    std::atomic_flag taken_;
    std::promise<value> outcome_;
};

interrupts::target::target(interrupts& signals, executor_base& box) : signals_(signals) {
    signals_.act_on({.interrupt = [&box] { box.async_interrupt([](result<void>) {}); },
                     .stop = [&box] { box.async_stop([](result<void>) {}); }});
}

interrupts::target::target(interrupts& signals, std::stop_source stop) : signals_(signals) {
    signals_.act_on({.stop = [stop]() mutable { stop.request_stop(); }});
    if (signals_.ending()) stop.request_stop();
}

interrupts::interrupts(orphans const& left_behind)
    : left_behind_(left_behind), started_(std::make_shared<first_outcome>()) {
    for (auto const number : {SIGINT, SIGTERM, SIGHUP}) add(number);
    listen();
    thread_ = std::thread([this] { io_.run(); });
}

interrupts::~interrupts() {
    io_.stop();
    thread_.join();
}

void interrupts::act_on(actions taken) {
    std::scoped_lock const lock(mutex_);
    actions_ = std::move(taken);
}

std::optional<result<void>> interrupts::start(executor_base& box) {
    box.async_start([started = started_](result<void> outcome) { started->set(std::move(outcome)); });
    return started_->wait();
}

void interrupts::cell_begins() noexcept {
    presses_ = 0;
    in_cell_ = true;
}

void interrupts::cell_ends() noexcept { in_cell_ = false; }

std::optional<exit_code> interrupts::ending() const noexcept {
    auto const code = ending_.load();
    return code == exit_code::ok ? std::nullopt : std::optional(code);
}

void interrupts::add(int number) {
    struct sigaction current{};
    // nohup, or a job that a script has put in the background
    if (::sigaction(number, nullptr, &current) == 0 && current.sa_handler == SIG_IGN) return;
    signals_.add(number);
}

void interrupts::listen() {
    signals_.async_wait([this](std::error_code error, int number) {
        if (error) return;
        listen();
        handle(number);
    });
}

void interrupts::handle(int number) {
    switch (number) {
    case SIGTERM: return end(exit_code::terminated);
    case SIGHUP: return end(exit_code::hung_up);
    default: break;
    }
    if (!in_cell_ || ++presses_ > 1) return end(exit_code::interrupted);
    std::scoped_lock const lock(mutex_);
    actions_.interrupt();
}

void interrupts::end(exit_code code) {
    // Not the first one: the user does not want to wait any longer.
    if (ending()) leave(code);
    ending_ = code;
    started_->set(std::nullopt);
    {
        std::scoped_lock const lock(mutex_);
        actions_.stop();
    }
    // The reader of our output may have stopped reading, or an interpreter may hang: then the main thread does not come
    // back in time.
    last_resort_.expires_after(3s);
    last_resort_.async_wait([this, code](std::error_code error) {
        if (!error) leave(code);
    });
}

void interrupts::leave(exit_code code) const {
    left_behind_.end();
    std::_Exit(static_cast<int>(code));
}

} // namespace ipybox::cli
