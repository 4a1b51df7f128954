#pragma once

#include <ipybox/core/exit_status.hpp>
#include <ipybox/jupyter/connection_info.hpp>
#include <ipybox/jupyter/wire_format.hpp>
#include <ipybox/transport/impl/zmq_socket.hpp>
#include <ipybox/transport/zmq_own_requests.hpp>

#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief The sockets to one kernel: messages in and out, and the end of the kernel.
 * \details The link has requests of its own (`ask`, `poke`). The kernel's messages to them carry ids with a prefix of
 * the link as parents, and never leave the link. Any number of coroutines may wait; all look again when something has
 * changed.
 */
class zmq_link : public std::enable_shared_from_this<zmq_link> {
  public:
    using clock = std::chrono::steady_clock;
    using message = jupyter::message;
    using channel = jupyter::message::channel;

    zmq_link(asio::any_io_executor executor, jupyter::connection_info info, bool own_process)
        : executor_(executor), info_(std::move(info)), signer_(info_.key), own_process_(own_process) {}

    /// Connects shell alone, and goes on trying until the kernel listens.
    [[nodiscard]] result<void> open_probe();

    /// Connects all channels, each once: what cannot be connected to is `refused`.
    [[nodiscard]] result<void> open();

    /// Waits until shell and iopub are connected.
    asio::awaitable<result<void>> connected(clock::time_point deadline);

    /// Sends a request of the link's own and waits for its reply. Whatever else arrives meanwhile on `shell` and
    /// `iopub` is dropped.
    asio::awaitable<result<message>> ask(message request, clock::time_point deadline);

    /// The same without content, beside a `receive`: nothing is dropped.
    asio::awaitable<result<void>> ask_beside(channel on, std::string type, clock::time_point deadline);

    /// Waits for any message on iopub, until the deadline at most.
    asio::awaitable<result<bool>> hears_iopub(clock::time_point deadline);

    /// Sends a kernel_info_request, whose answer is a `sign_of_life`.
    void poke();

    /// Waits for the answer to the latest `poke`, beside a `receive`; completes at once when it has come.
    asio::awaitable<result<void>> sign_of_life(clock::time_point deadline);

    /// Connects to the kernel once more, which makes it look at its requests: ipykernel before 7.4 does not notice one
    /// that comes while it replies.
    void knock();

    [[nodiscard]] result<void> send(message m);
    asio::awaitable<result<message>> receive();

    /// Tells how the process of the kernel ended.
    void process_ended(exit_status status);

    /// Takes the kernel for dead, or of no use any more.
    void give_up(error why);

    /// Whether the link is good for anything still.
    [[nodiscard]] result<void> state() const;

    /// Closes all sockets: operations that wait fail with errc::not_running.
    void close() noexcept;

  private:
    /// A timer that `notify` cancels.
    struct waiter {
        waiter(std::set<asio::steady_timer*>& waiting, asio::any_io_executor const& executor, clock::time_point when)
            : all(waiting), timer(executor, when) {
            all.insert(&timer);
        }
        waiter(waiter const&) = delete;
        waiter& operator=(waiter const&) = delete;
        ~waiter() { all.erase(&timer); }

        std::set<asio::steady_timer*>& all;
        asio::steady_timer timer;
    };

    static constexpr int day = 24 * 60 * 60 * 1000;
    static constexpr std::size_t most_held =
        64; // a session has one request at a time: nothing more than its reply is due
    static constexpr int most_in_one_turn = 64; // messages, before others on this executor have theirs
    static constexpr std::size_t channels = 4;

    [[nodiscard]] std::unique_ptr<zmq_socket> connect(channel c, std::string const& identity, int retry_ms,
                                                      bool monitored);
    [[nodiscard]] zmq_socket* socket(channel c) { return sockets_[static_cast<std::size_t>(c)].get(); }
    [[nodiscard]] std::optional<result<message>> take(channel c);
    [[nodiscard]] std::optional<result<message>> take_any();
    [[nodiscard]] result<bool> keep_own(message& m);
    [[nodiscard]] bool over();
    [[nodiscard]] error death() const;
    void arm();
    void notify();
    asio::awaitable<void> change(clock::time_point deadline);
    asio::awaitable<void> next(bool more, clock::time_point deadline);
    [[nodiscard]] result<bool> drop_some();
    [[nodiscard]] result<void> hold(channel on);
    asio::awaitable<result<void>> hold_until(channel on, std::function<bool()> reached, clock::time_point deadline);

    asio::any_io_executor executor_;
    jupyter::connection_info info_;
    jupyter::signer signer_;
    jupyter::wire_limits limits_;
    bool own_process_;
    std::string session_ = jupyter::new_message_id();
    zmq_own_requests own_;

    zmq::context_t context_{1};                                 // before the sockets: it ends after them
    std::array<std::unique_ptr<zmq_socket>, channels> sockets_; // by jupyter::message::channel
    std::unique_ptr<zmq_socket> knocking_;
    std::unique_ptr<zmq_monitor> shell_monitor_;
    std::unique_ptr<zmq_monitor> iopub_monitor_;
    std::vector<zmq::message_t> frames_;
    std::vector<std::string_view> views_;
    std::size_t turn_ = 0; // which channel is looked at first

    std::deque<message> held_; // taken by `hold_until`, for `receive`
    std::optional<exit_status> exit_;
    std::optional<error> given_up_;
    std::optional<clock::time_point> dying_; // when the first sign of the end was seen, plus grace
    bool heard_iopub_ = false;
    bool closed_ = false;
    std::set<asio::steady_timer*> waiting_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/transport/impl/zmq_link.ipp>
#endif
