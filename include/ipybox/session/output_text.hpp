#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/execution/job_output.hpp>
#include <ipybox/os/new_file.hpp>
#include <ipybox/session/file_budget.hpp>
#include <ipybox/session/output_places.hpp>
#include <ipybox/session/terminal_line.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief The text of one execution as a terminal shows it, within a bound: beyond it the head and the tail stay in
 * memory, and the whole goes to a file.
 * \details Appending never fails; what could not be written is told by `failure()`. Appending writes one slice to the
 * file. Text that is not in the file yet stays in memory: call `write_some()` behind each `append` until there is no
 * more.
 * \par Thread safety `between` and `text` are safe. The others are for the one that writes, which no reader holds up
 * for longer than a copy of 1 MiB takes, and no disk holds up a reader.
 */
class output_text {
  public:
    output_text(std::size_t bound, std::shared_ptr<output_places> places, std::shared_ptr<file_budget> budget);
    output_text(output_text const&) = delete;
    output_text& operator=(output_text const&) = delete;
    ~output_text() = default;

    /// Adds what was printed. Only the last line changes, as long as it is short and `between` has not told of it.
    /// \return whether something of that line was replaced
    bool append(std::string_view text);

    /// Makes room at once for text that comes in several pieces.
    void expect(std::size_t bytes);

    void clear();

    /// Whether it ends within a line.
    [[nodiscard]] bool in_line() const noexcept { return !kept_.empty() && kept_.back() != '\n'; }

    /// Writes a slice of what the file lacks, small enough that others do not wait for it. \return whether there is
    /// more
    [[nodiscard]] bool write_some();

    /// No more is appended: the file is as it stays, and memory is within the bound.
    void finish();

    /// Nothing more is written to the file, which is closed.
    void close() noexcept;

    /// The text without blank lines at its beginning and white space at its end, a line that says what is left out in
    /// its middle. Afterwards there is none.
    [[nodiscard]] std::string take();

    /// The same, and the text stays: for the time when no more is written.
    [[nodiscard]] std::string text() const;

    /// The text so far between two positions, see job_output.
    /// That text does not change afterwards.
    [[nodiscard]] job_output between(std::uint64_t from, std::uint64_t to) const;

    /// The same, which may change.
    [[nodiscard]] job_output look(std::uint64_t from, std::uint64_t to) const;

    /// The file with the whole text, or with as much of its beginning as may be written; empty when the text was within
    /// the bound.
    [[nodiscard]] std::filesystem::path const& spill_file() const noexcept { return spill_.path; }

    /// Why the file is not complete, if it is not.
    [[nodiscard]] std::optional<error> const& failure() const noexcept { return failure_; }

    /// The memory that the text takes.
    [[nodiscard]] std::size_t memory() const noexcept { return kept_.capacity(); }

    static constexpr std::size_t slice = std::size_t(4) << 20;

    /// A line up to which it can be replaced. A terminal's is shorter.
    static constexpr std::size_t longest_line = 4096;

  private:
    void begin_spilling();
    void spill(std::string_view text);
    void write_all();
    void make_room(std::size_t count);
    [[nodiscard]] bool move_to_room_for(std::size_t size);
    void shorten(std::size_t slack);
    [[nodiscard]] std::string notice(std::uint64_t bytes) const;
    [[nodiscard]] std::string presented(std::string text) const;
    [[nodiscard]] std::size_t firm() const noexcept;
    [[nodiscard]] std::size_t settled() const noexcept { return std::max(line_, firm()); }
    [[nodiscard]] std::uint64_t end() const noexcept;
    [[nodiscard]] std::uint64_t border_before(std::uint64_t position) const noexcept;
    [[nodiscard]] bool add_to(job_output& out, std::uint64_t limit) const;

    std::size_t half_;
    std::shared_ptr<output_places> places_;
    std::shared_ptr<file_budget> budget_;
    mutable std::mutex mutex_; ///< of what readers look at; only the one that writes changes it, but for told_
    std::string kept_;         ///< everything, within the bound; beyond it the head and the tail, one behind the other
    std::size_t head_ = 0;     ///< size of the head, where something is left out behind it
    std::size_t left_out_ = 0;
    terminal_line terminal_;
    std::size_t line_ = 0;           ///< where the last line begins in what is kept
    std::size_t firm_ = 0;           ///< what is kept does not change before this
    mutable std::uint64_t told_ = 0; ///< the position behind what readers know
    std::uint64_t cleared_ = 0;      ///< bytes before what is kept
    bool spilling_ = false;
    std::size_t in_file_ = 0;   ///< so much of what is kept, from its beginning, is in the file
    std::uint64_t no_room_ = 0; ///< bytes that the file has no room for
    os::new_file spill_;
    std::optional<error> failure_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/output_text.ipp>
#endif
