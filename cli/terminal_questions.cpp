#include <cli/output_file.hpp>
#include <cli/terminal_questions.hpp>
#include <cli/typed_line.hpp>

#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ipybox::cli {
namespace {

/// What is typed is not shown, as long as this lives.
class hidden_typing {
  public:
    hidden_typing() {
        if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
        auto hidden = before_;
        hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        hidden.c_lflag |= ECHONL;
        changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0;
    }
    hidden_typing(hidden_typing const&) = delete;
    hidden_typing& operator=(hidden_typing const&) = delete;
    ~hidden_typing() {
        if (changed_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    }

  private:
    termios before_{};
    bool changed_ = false;
};

/// On a line of its own, in plain visible letters, whatever the code has told the terminal before: ASCII, no attributes, nothing is shifted.
constexpr std::string_view start_afresh = "\x0F\x1B(B\x1B[0m\x1B[4l\n";

/// Whether all of it could be written.
bool write_to_terminal(std::string_view text) {
    try {
        output_file(STDERR_FILENO).write(text);
        return true;
    } catch (output_error const&) { return false; }
}

} // namespace

terminal_questions::terminal_questions() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

terminal_questions::~terminal_questions() {
    {
        std::scoped_lock const lock(mutex_);
        over_ = true;
        ::eventfd_write(wake_.get(), 1);
    }
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
}

terminal_questions::number terminal_questions::ask(terminal_question question) {
    std::scoped_lock const lock(mutex_);
    open_.push_back({++last_, std::move(question)});
    if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
    changed_.notify_all();
    return last_;
}

void terminal_questions::withdraw(number which) {
    std::unique_lock lock(mutex_);
    auto const found = std::find_if(open_.begin(), open_.end(), [which](entry const& e) { return e.id == which; });
    if (found == open_.end()) return;
    if (found != open_.begin() || !asking_) {
        open_.erase(found);
        return changed_.notify_all();
    }
    if (std::this_thread::get_id() == worker_.get_id()) return; // from its own answer
    ::eventfd_write(wake_.get(), 1);
    changed_.wait(lock, [this, which] { return open_.empty() || open_.front().id != which; });
}

void terminal_questions::wait_for_decisions() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_ || !decision_is_open(); });
}

bool terminal_questions::decision_is_open() const {
    return std::any_of(open_.begin(), open_.end(),
                       [](entry const& e) { return e.question.what == terminal_question::kind::decision; });
}

void terminal_questions::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return over_ || !open_.empty(); });
        if (over_) return;
        asking_ = true;
        auto const question = open_.front().question;
        lock.unlock();
        put(question);
        lock.lock();
        asking_ = false;
        open_.pop_front();
        eventfd_t ignored;
        if (!over_) ::eventfd_read(wake_.get(), &ignored);
        changed_.notify_all();
    }
}

void terminal_questions::put(terminal_question const& question) {
    using kind = terminal_question::kind;
    std::optional<hidden_typing> hidden;
    if (question.what == kind::password) hidden.emplace();
    auto const decides = question.what == kind::decision;
    if (decides) ::tcflush(STDIN_FILENO, TCIFLUSH);
    auto const seen = (!decides || write_to_terminal(start_afresh)) && write_to_terminal(question.text);
    // Nobody decides about what cannot be read; what the code wants to know can still be typed.
    if (decides && !seen) return question.answered(std::nullopt);

    auto typed = read_typed_line(wake_.get());
    hidden.reset();
    if (typed.by == typed_line::end::line) return question.answered(std::move(typed.text));
    if (decides) write_to_terminal("\n");
    if (typed.by == typed_line::end::end_of_file) question.answered(std::nullopt);
}

} // namespace ipybox::cli
