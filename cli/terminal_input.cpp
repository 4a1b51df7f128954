#include <cli/terminal_input.hpp>
#include <cli/typed_line.hpp>

#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <optional>
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

} // namespace

terminal_input::terminal_input() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

terminal_input::~terminal_input() { forget(); }

void terminal_input::ask(input_request request) {
    forget();
    reader_ = std::thread([this, request = std::move(request)] { read_answer(request); });
}

void terminal_input::forget() {
    if (!reader_.joinable()) return;
    ::eventfd_write(wake_.get(), 1);
    reader_.join();
    eventfd_t ignored;
    ::eventfd_read(wake_.get(), &ignored);
}

void terminal_input::read_answer(input_request const& request) {
    std::optional<hidden_typing> hidden;
    if (request.password()) hidden.emplace();
    // A question that cannot be written can still be answered.
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, request.prompt().data(), request.prompt().size());

    auto typed = read_typed_line(wake_.get());
    if (typed.by == typed_line::end::woken) return;
    if (typed.by == typed_line::end::end_of_file) return request.refuse();
    hidden.reset();
    request.reply(std::move(typed.text));
}

} // namespace ipybox::cli
