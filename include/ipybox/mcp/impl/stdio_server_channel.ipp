#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/completion.hpp>
#include <ipybox/async/side_threads.hpp>
#include <ipybox/mcp/impl/request_id_scan.hpp>
#include <ipybox/mcp/line_reader.hpp>
#include <ipybox/mcp/stdio_server_channel.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::mcp {
namespace detail {

/// Writes what a descriptor takes without making its writer wait, though it may be one that waits.
class patient_output {
  public:
    explicit patient_output(int descriptor) noexcept : descriptor_(descriptor) {
        struct stat status{};
        if (::fstat(descriptor, &status) == 0) is_socket_ = S_ISSOCK(status.st_mode);
    }

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

    /// Called when `poll` says that it can be written to: a pipe then takes PIPE_BUF bytes at once. \return bytes; 0:
    /// later; -1: never
    [[nodiscard]] ssize_t write(std::string_view bytes) const noexcept {
        auto const count = is_socket_
                               ? ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                               : ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
        bool const later = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
        return later ? 0 : count;
    }

  private:
    int descriptor_;
    bool is_socket_ = false;
};

/// A thread waits for both descriptors at once. It reads only while a line is wanted, so that a line stays where it is
/// until the next one is.
class stdio_server_channel final : public server::channel {
  public:
    using received = result<std::optional<std::string_view>>;
    using clock = std::chrono::steady_clock;

    stdio_server_channel(std::size_t longest, int input, int output, os::unique_fd wake)
        : input_(input), output_(output), wake_(std::move(wake)), reader_(longest) {}

    ~stdio_server_channel() override { stdio_server_channel::close(); }

    void begin() {
        thread_.begin([this] { run(); });
    }

    asio::awaitable<received> receive() override {
        auto const start = [this](ipybox::detail::completion<received> done) {
            {
                std::scoped_lock const lock(mutex_);
                if (!closed_) {
                    receiver_ = std::move(done);
                    return wake();
                }
            }
            done(std::optional<std::string_view>());
        };
        return ipybox::detail::await_completion<received>(start);
    }

    void send(std::string line) override {
        line.push_back('\n');
        std::scoped_lock const lock(mutex_);
        if (closed_ || broken_) return;
        if (outbox_.empty()) taken_ = clock::now();
        unread_ += line.size();
        outbox_.push_back(std::move(line));
        wake();
    }

    [[nodiscard]] std::string dropped_id() const override {
        std::scoped_lock const lock(mutex_);
        return dropped_id_;
    }

    [[nodiscard]] std::size_t unread() const noexcept override {
        std::scoped_lock const lock(mutex_);
        return unread_;
    }

    asio::awaitable<bool> drained(std::size_t most, std::chrono::milliseconds patience) override {
        auto const start = [this, most, patience](ipybox::detail::completion<bool> done) {
            {
                std::scoped_lock const lock(mutex_);
                if (!closed_ && !broken_) {
                    drain_ = drain{most, patience, std::move(done)};
                    return wake();
                }
            }
            done(false);
        };
        return ipybox::detail::await_completion<bool>(start);
    }

    void close() noexcept override {
        std::scoped_lock const lock(mutex_);
        closed_ = true;
        wake();
    }

  private:
    /// A line that is too long, while it comes.
    struct dropped_line {
        received error;
        request_id_scan id;
    };

    struct drain {
        std::size_t most;
        std::chrono::milliseconds patience;
        ipybox::detail::completion<bool> done;
    };

    void wake() const noexcept {
        std::uint64_t const one = 1;
        (void)!::write(wake_.get(), &one, sizeof(one));
    }

    void run() noexcept {
        try {
            while (step()) {}
        } catch (...) {} // NOLINT(bugprone-empty-catch): for want of memory; the connection ends
        std::unique_lock lock(mutex_);
        closed_ = true;
        auto receiver = std::exchange(receiver_, {});
        auto waiting = std::exchange(drain_, std::nullopt);
        lock.unlock();
        if (receiver) receiver(std::optional<std::string_view>());
        if (waiting) waiting->done(false);
    }

    /// One turn of the thread; false at the end.
    bool step() {
        deliver();
        settle_drain();
        std::array<pollfd, 3> watched{{{wake_.get(), POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLOUT, 0}}};
        int bound = -1;
        {
            std::scoped_lock const lock(mutex_);
            if (closed_) return false;
            if (receiver_ && !at_end_) watched[1].fd = input_;
            if (!outbox_.empty() && !broken_) watched[2].fd = output_.descriptor();
            if (drain_) bound = time_left(taken_ + drain_->patience);
        }
        if (::poll(watched.data(), watched.size(), bound) < 0 && errno != EINTR) return false;
        if (watched[0].revents != 0) {
            std::uint64_t count = 0;
            (void)!::read(wake_.get(), &count, sizeof(count));
        }
        if (watched[1].revents != 0) read();
        if (watched[2].revents != 0) write();
        return true;
    }

    static int time_left(clock::time_point until) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
    }

    /// Gives the next line to the coroutine that waits for it.
    void deliver() {
        {
            std::scoped_lock const lock(mutex_);
            if (!receiver_) return;
        }
        received next = std::optional<std::string_view>();
        if (!dropped_) next = reader_.next();
        if (!next) dropped_ = dropped_line{std::move(next), {}};
        if (dropped_) {
            dropped_->id.read(reader_.skip_line());
            if (reader_.is_skipping() && !at_end_) return;
            next = std::move(dropped_->error);
        }
        if (next && !*next && !at_end_) return;
        std::unique_lock lock(mutex_);
        if (dropped_) dropped_id_ = dropped_->id.found();
        dropped_.reset();
        auto receiver = std::exchange(receiver_, {});
        lock.unlock();
        receiver(std::move(next));
    }

    void read() {
        auto const room = reader_.prepare();
        auto const count = ::read(input_, room.data(), room.size());
        if (count > 0) reader_.commit(static_cast<std::size_t>(count));
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) at_end_ = true;
    }

    /// Only this thread takes from the front, so what stands there can be written without the lock.
    void write() {
        std::string_view next;
        {
            std::scoped_lock const lock(mutex_);
            next = std::string_view(outbox_.front()).substr(written_);
        }
        auto const count = output_.write(next);
        std::scoped_lock const lock(mutex_);
        if (count < 0) {
            broken_ = true;
            outbox_.clear();
            unread_ = 0;
            return;
        }
        if (count > 0) taken_ = clock::now();
        written_ += static_cast<std::size_t>(count);
        unread_ -= static_cast<std::size_t>(count);
        if (written_ < outbox_.front().size()) return;
        outbox_.pop_front();
        written_ = 0;
    }

    /// Ends the wait for the client to read, where it has read, or will not.
    void settle_drain() {
        std::unique_lock lock(mutex_);
        if (!drain_) return;
        bool const is_drained = !broken_ && unread_ <= drain_->most;
        if (!is_drained && !broken_ && clock::now() < taken_ + drain_->patience) return;
        auto done = std::move(drain_->done);
        drain_.reset();
        lock.unlock();
        done(is_drained);
    }

    int input_;
    patient_output output_;
    os::unique_fd wake_;

    mutable std::mutex mutex_;
    std::deque<std::string> outbox_;
    std::size_t written_ = 0; ///< of its front
    std::size_t unread_ = 0;  ///< bytes of all
    clock::time_point taken_; ///< when the client last took something, or had taken all
    ipybox::detail::completion<received> receiver_;
    std::optional<drain> drain_;
    std::string dropped_id_; ///< of the line that was dropped last
    bool closed_ = false;
    bool broken_ = false; ///< the client has closed its end

    line_reader reader_;                  ///< the thread's, but for the line that was given
    bool at_end_ = false;                 ///< the thread's
    std::optional<dropped_line> dropped_; ///< the thread's
    ipybox::detail::side_threads thread_; ///< the last member: it uses the others
};

} // namespace detail

IPYBOX_DECL result<std::shared_ptr<server::channel>> server::channel::stdio(std::size_t max_line_in, int input,
                                                                            int output) {
    for (int const descriptor : {input, output})
        if (::fcntl(descriptor, F_GETFD) < 0)
            return failure(ipybox::detail::system_failure("descriptor " + std::to_string(descriptor), errno));
    os::unique_fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return failure(ipybox::detail::system_failure("eventfd", errno));
    auto made = std::make_shared<detail::stdio_server_channel>(max_line_in, input, output, std::move(wake));
    made->begin();
    return made;
}

} // namespace ipybox::mcp
