#pragma once

#include <ipybox/async/wait_handler.hpp>
#include <ipybox/core/text_tail.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/mcp/first_words.hpp>
#include <ipybox/mcp/line_reader.hpp>
#include <ipybox/mcp/server_launch.hpp>
#include <ipybox/mcp/stdio_channel.hpp>
#include <ipybox/mcp/value_names.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/os/pipe.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/unforked.hpp>

#include <asio/buffer.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/system_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace ipybox::mcp {
namespace detail {

/// The bytes of standard error that are kept.
inline constexpr std::size_t diagnostics_size = 16 * 1024;

/// How much a server can write before it has to wait for us.
inline constexpr int stream_buffer = 1 << 20;

/// Bytes of answers to requests of the server that it has not read.
inline constexpr std::size_t most_answers = 1 << 20;

/// How long a server whose first words show another framing has for a message in ours.
inline constexpr std::chrono::milliseconds framing_patience{500};

/// A server that reads as fast as we write does not hold up other handlers.
inline constexpr std::size_t written_in_turn = 1 << 20;

/// Sockets rather than pipes for standard input and output: writing to one whose reader is gone is an error, and no
/// SIGPIPE for the host.
class stdio_channel final : public channel, public std::enable_shared_from_this<stdio_channel> {
  public:
    stdio_channel(asio::any_io_executor const& executor, server_params server, std::chrono::milliseconds grace)
        : executor_(executor), server_(std::move(server)), grace_(clamped(grace)), to_server_(executor),
          from_server_(executor), standard_error_(executor), exit_(executor), reader_(longest_line) {}

    asio::awaitable<result<void>> open() override;
    void send(std::string message) override { put({std::move(message), false}); }
    void answer(std::string message) override;
    asio::awaitable<result<std::string_view>> receive() override;
    asio::awaitable<void> close() override;
    std::string diagnostics() const override { return words_.quote() + diagnostics_; }
    void kill() noexcept override;

  private:
    using socket_type = asio::local::stream_protocol::socket;

    struct outgoing {
        std::string text;
        bool is_answer;
    };

    result<void> start();
    void await_exit();
    void await_standard_error();
    void keep(std::string_view said);
    void put(outgoing message);
    void flush();
    void drop_front();
    void fall_silent();
    void watch_words();
    asio::awaitable<bool> exited(std::chrono::milliseconds bound);
    asio::awaitable<error> end();
    void kill_process() noexcept;
    [[nodiscard]] bool is_killed() {
        std::scoped_lock const lock(process_mutex_);
        return killed_;
    }
    void signal_group(int number);

    asio::any_io_executor executor_;
    server_params server_;
    std::chrono::milliseconds grace_;

    std::mutex process_mutex_; ///< `kill` comes from any thread
    os::process process_;
    bool killed_ = false;              ///< perhaps before it was started
    std::shared_ptr<void const> kept_; ///< of its sandbox, as long as it runs
    os::unique_fd lifeline_;           ///< of its sandbox, which ends with it

    socket_type to_server_;
    socket_type from_server_;
    asio::posix::stream_descriptor standard_error_;
    asio::posix::stream_descriptor exit_; ///< readable when the process has ended

    std::deque<outgoing> outbox_;
    std::size_t answers_ = 0; ///< bytes of those in it
    std::size_t written_ = 0; ///< of its front
    bool writing_ = false;

    line_reader reader_;
    first_words words_;
    std::optional<asio::steady_timer> patience_; ///< with a server that seems to write in another way
    bool silent_ = false;                        ///< nothing more comes but what is there already
    std::optional<error> failure_;

    std::array<char, 4096> said_;
    bool hears_standard_error_ = false; ///< a read of it is under way, or its handler is
    bool ends_ = false;                 ///< the rest of standard error is read at once
    std::string diagnostics_;

    std::optional<exit_status> status_;
    std::vector<asio::steady_timer*> exit_waiters_;

    os::unforked unforked_input_; ///< a server ends with its input: no fork of the host may keep that open
    std::vector<os::unforked> unforked_;
};

inline asio::awaitable<result<void>> stdio_channel::open() {
    auto started = start();
    if (!started)
        co_return failure(static_cast<errc>(started.error().code().value()),
                          "cannot be started: " + started.error().text());
    co_return started;
}

inline result<void> stdio_channel::start() {
    auto spec = sandboxed_launch_of(server_);
    // Whatever is wrong with its parameters concerns this server alone.
    bool const is_its_own = !spec && (spec.error() == errc::invalid_argument || spec.error() == errc::io_error);
    if (!spec) return is_its_own ? failure(errc::mcp_start_failed, spec.error().text()) : failure(spec.error());
    auto input = os::make_stream_pair(stream_buffer);
    if (!input) return failure(input);
    auto output = os::make_stream_pair(stream_buffer);
    if (!output) return failure(output);
    auto standard_error = os::make_pipe();
    if (!standard_error) return failure(standard_error);

    std::vector<os::handed_descriptor> handed = {
        {0, input->theirs.get()}, {1, output->theirs.get()}, {2, standard_error->writer.get()}};
    os::socket_pair lifeline;
    if (server_.sandbox) {
        auto made = os::make_seqpacket_pair();
        if (!made) return failure(made);
        lifeline = std::move(*made);
        handed.push_back({lifeline_fd, lifeline.theirs.get()});
    }
    if (is_killed()) return failure(errc::not_running, "it was stopped");
    auto process = os::start_process(*spec, std::move(handed));
    if (!process) return failure(errc::mcp_start_failed, process.error().text());
    os::unique_fd ended(::fcntl(process->descriptor(), F_DUPFD_CLOEXEC, 0));
    if (!ended) return failure(ipybox::detail::system_failure("dup", errno));
    {
        std::scoped_lock const lock(process_mutex_);
        process_ = std::move(*process);
        kept_ = std::move(spec->keeps);
        if (killed_) kill_process(); // meanwhile
    }
    lifeline_ = std::move(lifeline.ours);
    try {
        asio::local::stream_protocol const protocol;
        unforked_input_ = os::unforked(input->ours.get());
        for (int const watched : {output->ours.get(), standard_error->reader.get(), ended.get()})
            unforked_.emplace_back(watched);
        to_server_.assign(protocol, input->ours.release());
        to_server_.non_blocking(true);
        from_server_.assign(protocol, output->ours.release());
        from_server_.non_blocking(true);
        standard_error_.assign(standard_error->reader.release());
        standard_error_.non_blocking(true);
        exit_.assign(ended.release());
    } catch (asio::system_error const& e) {
        return failure(ipybox::detail::system_failure("watching its streams", e.code().value()));
    }
    await_exit();
    await_standard_error();
    return {};
}

inline void stdio_channel::await_exit() {
    exit_.async_wait(asio::posix::stream_descriptor::wait_read,
                     ipybox::detail::wait_handler([weak = weak_from_this()](asio::error_code cancelled) {
                         auto const self = weak.lock();
                         if (!self || cancelled) return;
                         if (!os::has_ended(self->exit_.native_handle())) return self->await_exit();
                         {
                             std::scoped_lock const lock(self->process_mutex_);
                             // Processes that it left behind would hold its streams open.
                             self->process_.signal_group(SIGKILL);
                             self->status_ = self->process_.wait(std::chrono::milliseconds(0)).value_or(exit_status());
                             self->kept_.reset();
                         }
                         for (auto* const waiter : std::exchange(self->exit_waiters_, {})) waiter->cancel();
                         self->fall_silent();
                     }));
}

inline void stdio_channel::await_standard_error() {
    hears_standard_error_ = true;
    standard_error_.async_read_some(asio::buffer(said_),
                                    [weak = weak_from_this()](asio::error_code ended, std::size_t count) {
                                        auto const self = weak.lock();
                                        if (!self) return;
                                        self->hears_standard_error_ = false;
                                        if (ended) return;
                                        self->keep({self->said_.data(), count});
                                        if (!self->ends_) self->await_standard_error();
                                    });
}

inline void stdio_channel::keep(std::string_view said) {
    ipybox::detail::append_tail(diagnostics_, said, diagnostics_size);
}

/// To wait for room, and not read meanwhile, could wait for ever: for a server that reads when it has written.
inline void stdio_channel::answer(std::string message) {
    if (answers_ + message.size() < most_answers) put({std::move(message), true});
}

inline void stdio_channel::put(outgoing message) {
    if (silent_ || failure_ || !to_server_.is_open()) return;
    message.text.push_back('\n');
    if (message.is_answer) answers_ += message.text.size();
    outbox_.push_back(std::move(message));
    if (!writing_) flush();
}

inline void stdio_channel::drop_front() {
    if (outbox_.front().is_answer) answers_ -= outbox_.front().text.size();
    outbox_.pop_front();
    written_ = 0;
}

/// Writes what the socket takes at once, but no more than others can wait for; the rest when it can take more.
inline void stdio_channel::flush() {
    for (std::size_t in_turn = 0; !outbox_.empty() && in_turn < written_in_turn;) {
        auto const& next = outbox_.front().text;
        auto const size = std::min(next.size() - written_, written_in_turn - in_turn);
        asio::error_code ec;
        auto const count = to_server_.write_some(asio::buffer(next.data() + written_, size), ec);
        if (ec == asio::error::would_block || ec == asio::error::try_again) break;
        if (ec) return fall_silent(); // it has closed its standard input
        written_ += count;
        in_turn += count;
        if (written_ < next.size()) continue;
        drop_front();
    }
    writing_ = !outbox_.empty();
    if (!writing_) return;
    to_server_.async_wait(socket_type::wait_write, [weak = weak_from_this()](asio::error_code ec) {
        auto const self = weak.lock();
        if (self && !ec) self->flush();
    });
}

inline void stdio_channel::fall_silent() {
    silent_ = true;
    outbox_.clear();
    asio::error_code ignored;
    from_server_.cancel(ignored);
}

inline asio::awaitable<result<std::string_view>> stdio_channel::receive() {
    for (;;) {
        if (failure_) co_return failure(*failure_);
        auto line = reader_.next();
        if (!line) {
            failure_ = line.error();
            continue;
        }
        if (*line) {
            words_.on_line(**line);
            co_return **line;
        }
        watch_words();
        auto const room = reader_.prepare();
        auto const buffer = asio::buffer(room.data(), room.size());
        asio::error_code ec;
        auto const was_silent = silent_;
        std::size_t count = 0;
        if (was_silent)
            count = from_server_.read_some(buffer, ec);
        else
            count = co_await from_server_.async_read_some(buffer, asio::redirect_error(asio::use_awaitable, ec));
        reader_.commit(count);
        // Cancelled because it fell silent: what it wrote before is still there to be read.
        if (ec && (was_silent || !silent_)) failure_ = co_await end();
    }
}

/// Gives up on a server whose messages cannot be read, a moment after that shows.
inline void stdio_channel::watch_words() {
    words_.on_rest(reader_.unfinished());
    if (words_.over() || words_.fault().empty() || patience_) return;
    patience_.emplace(executor_, framing_patience);
    patience_->async_wait(ipybox::detail::wait_handler([weak = weak_from_this()](asio::error_code cancelled) {
        auto const self = weak.lock();
        if (!self || cancelled || self->failure_ || self->words_.over()) return;
        auto text = self->words_.fault();
        self->failure_ = error(errc::protocol_error, text.append(it_said).append(self->diagnostics()));
        self->fall_silent();
    }));
}

/// How the server ended. It has, or is about to.
inline asio::awaitable<error> stdio_channel::end() {
    (void)co_await exited(std::chrono::seconds(1));
    ends_ = true;
    asio::error_code ec;
    standard_error_.cancel(ec);
    // A read that is under way has earlier bytes than those below.
    while (hears_standard_error_) co_await asio::post(executor_, asio::use_awaitable);
    for (int reads = 0; !ec && reads < 64 && standard_error_.is_open(); ++reads) {
        std::array<char, 4096> piece;
        auto const count = standard_error_.read_some(asio::buffer(piece), ec);
        keep({piece.data(), count});
    }
    auto text = status_ ? "ended: " + to_string(*status_) : std::string("closed its standard streams");
    if (auto const said = diagnostics(); !said.empty()) text.append(it_said).append(said);
    co_return error(errc::mcp_server_died, std::move(text)).with_status(status_.value_or(exit_status()));
}

/// Waits for the end of the process; false when the bound passed first.
inline asio::awaitable<bool> stdio_channel::exited(std::chrono::milliseconds bound) {
    if (status_ || !exit_.is_open()) co_return true;
    asio::steady_timer timer(executor_, bound);
    exit_waiters_.push_back(&timer);
    asio::error_code ended;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    std::erase(exit_waiters_, &timer);
    co_return status_.has_value();
}

inline asio::awaitable<void> stdio_channel::close() {
    outbox_.clear();
    asio::error_code ignored;
    unforked_input_ = os::unforked();
    to_server_.close(ignored);
    for (int const number : {SIGTERM, SIGKILL}) {
        if (co_await exited(grace_)) break;
        number == SIGKILL ? kill() : signal_group(number);
    }
    (void)co_await exited(std::chrono::seconds(1)); // stuck in the system it is left to init
    unforked_.clear();
    lifeline_.reset();
    exit_.close(ignored);
    standard_error_.close(ignored);
    from_server_.close(ignored);
}

inline void stdio_channel::signal_group(int number) {
    std::scoped_lock const lock(process_mutex_);
    process_.signal_group(number);
}

inline void stdio_channel::kill() noexcept {
    std::scoped_lock const lock(process_mutex_);
    killed_ = true;
    kill_process();
}

/// With the lock held.
inline void stdio_channel::kill_process() noexcept {
    process_.kill_tree();
    process_.signal_group(SIGKILL);
}

} // namespace detail

IPYBOX_DECL std::shared_ptr<channel> make_stdio_channel(asio::any_io_executor const& executor, server_params server,
                                                        std::chrono::milliseconds stop_grace) {
    return std::make_shared<detail::stdio_channel>(executor, std::move(server), stop_grace);
}

} // namespace ipybox::mcp
