#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/new_file.hpp>
#include <ipybox/session/file_budget.hpp>
#include <ipybox/session/output_places.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief The text of one execution, within a bound: beyond it the head and the tail stay in memory, and the whole goes to a file.
 * \details Appending never fails; what could not be written is told by `failure()`. Appending writes one slice to the file. Text that is not in the
 * file yet stays in memory: call `write_some()` behind each `append` until there is no more.
 */
class output_text {
  public:
    output_text(std::size_t bound, std::shared_ptr<output_places> places, std::shared_ptr<file_budget> budget);

    void append(std::string_view text);
    void clear();

    /// Writes a slice of what the file lacks, small enough that others do not wait for it. \return whether there is more
    [[nodiscard]] bool write_some();

    /// The text without white space at its ends, a line that says what is left out in its middle.
    [[nodiscard]] std::string take();

    /// The file with the whole text, or with as much of its beginning as may be written; empty when the text was within the bound.
    [[nodiscard]] std::filesystem::path const& spill_file() const noexcept { return spill_.path; }

    /// Why the file is not complete, if it is not.
    [[nodiscard]] std::optional<error> const& failure() const noexcept { return failure_; }

    /// The memory that the text takes.
    [[nodiscard]] std::size_t memory() const noexcept { return kept_.capacity(); }

    static constexpr std::size_t slice = std::size_t(4) << 20;

  private:
    void begin_spilling();
    void spill(std::string_view text);
    void write_all();
    void make_room(std::size_t count);
    [[nodiscard]] bool move_to_room_for(std::size_t size);
    void shorten(std::size_t slack);
    [[nodiscard]] std::string notice() const;

    std::size_t half_;
    std::shared_ptr<output_places> places_;
    std::shared_ptr<file_budget> budget_;
    std::string kept_;     ///< everything, within the bound; beyond it the head and the tail, one behind the other
    std::size_t head_ = 0; ///< size of the head, where something is left out behind it
    std::size_t left_out_ = 0;
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
