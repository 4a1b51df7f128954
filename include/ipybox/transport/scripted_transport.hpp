#pragma once

#include <ipybox/transport/transport.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ipybox {

/**
 * \brief A dialogue with a kernel that does not exist: what it does upon each execution, and where it fails. For tests,
 * yours too.
 * \details
 * \code
 * auto script = std::make_shared<ipybox::kernel_script>();
 * script->expect("1+1").prints("thinking\n").shows({{"text/plain", "2"}}).replies();
 * script->expect("loop()").waits_for_interrupt().raises("KeyboardInterrupt", "");
 * ipybox::basic_executor box{{}, ipybox::deny_approval{}, ipybox::no_sandbox{}, ipybox::scripted_transport{script}};
 * \endcode
 * Executions have to come in the order of the script; another one dies of errc::protocol_error.
 * \par Thread safety Unsafe: written before the executor works, read after.
 */
class kernel_script {
  public:
    /// The kernel's actions upon one execution, in order.
    class exchange {
      public:
        /// Text on standard output or standard error.
        exchange& prints(std::string text, std::string stream = "stdout");
        /// A display with this content, by MIME type.
        exchange& shows(nlohmann::json data, std::string type = "display_data");
        exchange& sends(jupyter::message m);                     ///< any message; it gets the request as parent
        exchange& asks(std::string prompt);                      ///< input; goes on when it is answered
        exchange& waits_for_interrupt();                         ///< goes on when the kernel is interrupted
        exchange& dies(exit_status status);                      ///< ends the kernel
        exchange& replies();                                     ///< ends the execution: status ok
        exchange& raises(std::string ename, std::string evalue); ///< ends the execution with an exception

      private:
        friend class kernel_script;
        friend class scripted_transport;
        struct input_pause {};
        struct interrupt_pause {};
        using step = std::variant<jupyter::message, input_pause, interrupt_pause, exit_status>;

        std::string code_;
        std::deque<step> steps_;
    };

    /// The next execution is of this code.
    exchange& expect(std::string code);

    /// Code that was not executed yet is not expected any more.
    void forget() noexcept { exchanges_.clear(); }

    /// Starts want a supervisor, as those of real kernels: for tests of finding an interpreter and of sandboxes.
    void with_supervisor() noexcept { supervised_ = true; }

    /// The n-th operation of the transport (start, send, receive, interrupt; counted from 0) fails.
    void fail_at(std::size_t n, error why);

    [[nodiscard]] std::size_t operations() const noexcept { return operations_; } ///< how many there were
    [[nodiscard]] std::size_t starts() const noexcept { return starts_; }         ///< how many kernels were started
    [[nodiscard]] std::size_t interrupts() const noexcept { return interrupts_; } ///< how many interrupts came
    [[nodiscard]] std::vector<std::string> const& inputs() const noexcept {
        return inputs_;
    } ///< answers to `asks`, in order

  private:
    friend class scripted_transport;
    /// Counts an operation; the error if it is the one that fails.
    [[nodiscard]] std::optional<error> next_operation();

    std::deque<exchange> exchanges_;
    std::optional<std::size_t> failing_;
    std::optional<error> failure_;
    std::size_t operations_ = 0;
    bool supervised_ = false;
    std::size_t starts_ = 0;
    std::size_t interrupts_ = 0;
    std::vector<std::string> inputs_;
};

/// The transport that plays a kernel_script.
class scripted_transport {
  public:
    /// See transport_traits.
    static constexpr bool forks_kernels = false;
    /// See transport_traits.
    static constexpr bool orders_messages = true;

    /// Plays this script.
    explicit scripted_transport(std::shared_ptr<kernel_script> script);

    ///@{
    /// One of the operations of the concept `transport`.
    asio::awaitable<result<kernel_host::info>> start(std::shared_ptr<kernel_host> host, kernel_host::launch launch);
    asio::awaitable<result<void>> send(jupyter::message m);
    asio::awaitable<result<jupyter::message>> receive();
    asio::awaitable<result<void>> interrupt();
    asio::awaitable<void> stop();
    ///@}

  private:
    struct state;
    std::shared_ptr<kernel_script> script_;
    std::shared_ptr<state> state_;
};

static_assert(transport<scripted_transport>);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/transport/impl/scripted_transport.ipp>
#endif
