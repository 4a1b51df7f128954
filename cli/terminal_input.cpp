#include <cli/terminal_input.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
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

enum class readiness { readable, woken };

readiness wait_for_typing(int wake) {
    std::array<pollfd, 2> watched{{{STDIN_FILENO, POLLIN, 0}, {wake, POLLIN, 0}}};
    while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {}
    return watched[1].revents != 0 ? readiness::woken : readiness::readable;
}

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

    std::string line;
    std::array<char, 4096> buffer;
    while (!line.ends_with('\n')) {
        if (wait_for_typing(wake_.get()) == readiness::woken) return;
        auto const count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return request.refuse();
        line.append(buffer.data(), static_cast<std::size_t>(count));
    }
    line.pop_back();
    hidden.reset();
    request.reply(std::move(line));
}

} // namespace ipybox::cli
