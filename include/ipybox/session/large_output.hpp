#pragma once

#include <ipybox/async/side_threads.hpp>
#include <ipybox/execution/display.hpp>
#include <ipybox/execution/output_chunk.hpp>
#include <ipybox/session/occurrence.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace ipybox::detail {

class execution_output;
class seen_messages;

/**
 * \brief Output of one execution that is too large for one turn of the executor: a text is written in slices, the files
 * of a display on another thread.
 * \details One at a time: no other message of the kernel is dealt with meanwhile. Time goes on: code is interrupted and
 * killed when that is due, whatever the disk does.
 * \par Thread safety Unsafe: belongs to its executor.
 */
class large_output {
  public:
    /// The inbox gets an `occurrence::nudge` when the files of a display are written. `output` and `seen` outlive this.
    large_output(asio::any_io_executor executor, execution_output& output, seen_messages& seen,
                 std::shared_ptr<execution_inbox> inbox)
        : executor_(std::move(executor)), output_(output), seen_(seen), inbox_(std::move(inbox)) {}

    /// Whether there is some, which is not dealt with as a whole yet.
    [[nodiscard]] bool is_pending() const noexcept { return pending_.has_value(); }

    /// Whether another thread writes a display, or has written it and that was not taken up.
    [[nodiscard]] bool is_being_saved() const noexcept { return saving_ != nullptr; }

    void begin(output_chunk chunk);
    void begin(display shown) { pending_.emplace(std::move(shown)); }

    /// The message that it came with: its number is seen at the end, and the memory that it takes is in hand until
    /// then.
    void belongs_to(std::uint64_t number, std::shared_ptr<void> in_hand);

    /// Writes a slice of a text, with a turn for other handlers behind it; has the files of a display written.
    asio::awaitable<void> go_on();

    /// Takes up that the files of a display have been written, if they have. Throws what the writing threw.
    void take_saved();

    /// All that is left, where nothing else is waited for any more.
    asio::awaitable<void> finish();

  private:
    struct pending_output {
        explicit pending_output(output_chunk chunk) : what(std::move(chunk)) {}
        explicit pending_output(display shown) : what(std::move(shown)) {}

        std::variant<output_chunk, display> what;
        std::size_t written = 0; ///< bytes of a text
        std::uint64_t number = 0;
        std::shared_ptr<void> in_hand = {};
    };

    /// A display whose files another thread writes.
    struct saving_display {
        explicit saving_display(asio::any_io_executor const& executor);
        bool is_done = false;
        std::exception_ptr thrown = nullptr;
        asio::steady_timer wake; ///< cancelled when it is done
    };

    void write_slice(output_chunk const& chunk);
    void save_aside();
    void done();

    asio::any_io_executor const executor_;
    execution_output& output_;
    seen_messages& seen_;
    std::shared_ptr<execution_inbox> const inbox_;
    std::optional<pending_output> pending_;
    std::shared_ptr<saving_display> saving_; ///< of `pending_`
    side_threads aside_;                     ///< the last member: its threads use the others
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/large_output.ipp>
#endif
