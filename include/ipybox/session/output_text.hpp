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
 * \details Appending never fails; what could not be written is told by `failure()`.
 */
class output_text {
  public:
    output_text(std::size_t bound, std::shared_ptr<output_places> places, std::shared_ptr<file_budget> budget);

    void append(std::string_view text);
    void clear();

    /// The text without white space at its ends, a line that says what is left out in its middle.
    [[nodiscard]] std::string take();

    /// The file with the whole text, or with as much of its beginning as may be written; empty when the text was within the bound.
    [[nodiscard]] std::filesystem::path const& spill_file() const noexcept { return spill_.path; }

    /// Why the file is not complete, if it is not.
    [[nodiscard]] std::optional<error> const& failure() const noexcept { return failure_; }

  private:
    void begin_spilling();
    void spill(std::string_view text);
    void shorten_tail();

    std::size_t half_;
    std::shared_ptr<output_places> places_;
    std::shared_ptr<file_budget> budget_;
    std::string head_; ///< everything, within the bound
    std::string tail_; ///< what comes behind the head once the bound was passed; its last part
    bool spilling_ = false;
    std::size_t left_out_ = 0;
    std::uint64_t unwritten_ = 0; ///< bytes that the file has no room for
    os::new_file spill_;
    std::optional<error> failure_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/output_text.ipp>
#endif
