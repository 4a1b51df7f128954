#include <cli/output_file.hpp>
#include <cli/terminal_questions.hpp>
#include <cli/typed_line.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
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

/// Text is what it says again, whatever the terminal was told before.
constexpr std::string_view plain_text =
    "\x18\x1B\\"                               // ends a sequence that is not complete
    "\x0F\x1B(B\x1B[0m"                        // ASCII, no colours, visible
    "\x1B[4l\x1B[20l\x1B[?7h\x1B[?5l\x1B[?25h" // nothing is shifted, lines are wrapped, nothing inverted, the cursor is
                                               // seen
    "\x1B]104\x1B\\\x1B]110\x1B\\\x1B]111\x1B\\"               // the colours that the person has chosen
    "\x1B[?1000l\x1B[?1002l\x1B[?1003l\x1B[?1004l\x1B[?2004l"; // the terminal types nothing by itself

/// The whole screen, and its last row. These move the cursor, and are left out where the code cannot have told the
/// terminal otherwise.
constexpr std::string_view whole_screen = "\x1B[?1049l\x1B[?69l\x1B[?6l\x1B[r\x1B[999;1H";

/// How long nothing counts as an answer to a question that appeared in the place of another one: longer than a finger
/// needs that is on its way.
constexpr int settling_milliseconds = 700;

terminal_size size_of_terminal() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
    return {size.ws_col, size.ws_row};
}

/// Whether all of it could be written.
bool write_to_terminal(std::string_view text) {
    try {
        output_file(STDERR_FILENO, escape_sequences::all).write(text);
        return true;
    } catch (output_error const&) { return false; }
}

} // namespace

terminal_questions::terminal_questions(escape_sequences passed)
    : passed_(passed), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

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
    if (question.what == terminal_question::kind::decision)
        put_decision(question);
    else
        put_input(question);
}

void terminal_questions::put_input(terminal_question const& question) {
    std::optional<hidden_typing> hidden;
    if (question.what == terminal_question::kind::password) hidden.emplace();
    // It can be typed also where the question cannot be written.
    write_to_terminal(passed_ == escape_sequences::all ? question.text : terminal_text()(question.text));
    auto typed = read_typed_line(wake_.get());
    hidden.reset();
    // A person who answers one input() after the other shall not approve an action with the next key.
    replaces_ = typed.by != typed_line::end::end_of_file;
    if (typed.by == typed_line::end::line) return question.answered(std::move(typed.text));
    if (typed.by == typed_line::end::end_of_file) question.answered(std::nullopt);
}

void terminal_questions::put_decision(terminal_question const& question) {
    auto extent = question_extent::screen;
    for (;;) {
        // A question that cannot be read decides nothing.
        if (!show(question, extent)) return question.answered(std::nullopt);
        if (std::exchange(replaces_, false)) {
            pollfd woken{wake_.get(), POLLIN, 0};
            if (::poll(&woken, 1, settling_milliseconds) > 0) return taken_back();
            pollfd typed{STDIN_FILENO, POLLIN, 0};
            bool const too_early = ::poll(&typed, 1, 0) > 0;
            ::tcflush(STDIN_FILENO, TCIFLUSH);
            if (too_early) {
                write_to_terminal("\nThe question has changed; please read this one:\n");
                continue;
            }
        }
        auto typed = read_typed_line(wake_.get());
        if (typed.by == typed_line::end::woken) return taken_back();
        if (typed.by == typed_line::end::end_of_file) {
            write_to_terminal("\n");
            return question.answered(std::nullopt);
        }
        if (typed.text != "v" && typed.text != "view") return question.answered(std::move(typed.text));
        extent = question_extent::all;
    }
}

bool terminal_questions::show(terminal_question const& question, question_extent extent) {
    ::tcflush(STDIN_FILENO, TCIFLUSH);
    std::string text(plain_text);
    if (passed_ == escape_sequences::all) text += whole_screen;
    text += '\n';
    return write_to_terminal(text + question.decision(size_of_terminal(), extent));
}

void terminal_questions::taken_back() {
    replaces_ = true;
    write_to_terminal("\nThe question was taken back.\n");
}

} // namespace ipybox::cli
