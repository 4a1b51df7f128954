#pragma once

#include <ipybox/core/error.hpp>
#include <ipybox/execution/execution_result.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

class file_budget;
class output_places;
class output_text;

/**
 * \brief Collects what one execution brings into its result: text, images as files, displays.
 * \details Bounded: see executor_options::output.max_memory. Nothing here fails; `failure()` tells what could not be
 * written.
 */
class output_recorder {
  public:
    /// The bounds of one execution.
    struct bounds {
        std::size_t max_output = 0;
        std::size_t max_files = 0;
        std::uint64_t max_spill = 0;
    };

    output_recorder(std::shared_ptr<output_places> places, bounds const& most);
    output_recorder(output_recorder const&) = delete;
    output_recorder& operator=(output_recorder const&) = delete;
    ~output_recorder();

    /// Text that was printed; what is due is cleared before. \return whether it replaces text of its line
    bool write(std::string_view text);

    /// Makes room for text that is about to be written in pieces.
    void expect(std::size_t bytes);

    /// Writes a slice of what goes to a file. Call it behind each text until there is no more; what is left when the
    /// result is taken is written then.
    [[nodiscard]] bool write_some();

    /// Saves its image, remembers it or updates the displays of the same id, which share its content from then on.
    /// Fills in `image`.
    void show(display& d);

    /// The output is cleared, now or with the next one.
    void clear(bool wait);

    /// Clears if it is time: before output, where a clearing waits for that. Whether it has.
    [[nodiscard]] bool clear_if_due();

    /// Stops the writing of large displays to files, from any thread and while `show` is under way: what is not written
    /// by then is left out and counted.
    [[nodiscard]] std::stop_source writing() const { return writing_; }

    /// Why a file could not be written, if one could not.
    [[nodiscard]] std::optional<error> failure() const;

    /// The text, for those who read it while it is written and afterwards. The result has none then.
    [[nodiscard]] std::shared_ptr<output_text const> share_text() noexcept;

    /// The result; afterwards the recorder is spent.
    [[nodiscard]] execution_result finish();

  private:
    void write_lines(std::string_view text);
    /// A display as it is kept, and what that takes.
    struct kept_display {
        display shown;
        std::size_t bytes = 0;     ///< in memory
        std::uint64_t in_file = 0; ///< bytes of its spill file
    };

    /// The content that updates gave to all displays of an id that came before.
    struct updated_display {
        kept_display kept;
        std::size_t before = 0; ///< displays from here on have content of their own
        std::size_t copies = 0; ///< displays that share it
    };

    /// A file that an image was saved to.
    struct saved_image {
        std::filesystem::path file;
        std::uint64_t bytes = 0;
    };

    void update(display& d);
    void remember(display const& d);
    void save_image(display& d);
    [[nodiscard]] bool take_room(display const& d, std::size_t bytes);
    [[nodiscard]] kept_display fitting(display const& d, std::size_t copies);
    void let_go(kept_display& kept);
    void apply_updates();

    std::shared_ptr<output_places> places_;
    std::size_t max_output_;
    std::shared_ptr<file_budget> budget_;
    std::shared_ptr<output_text> const text_;
    bool text_is_shared_ = false;
    std::vector<kept_display> displays_;
    std::map<std::string, std::vector<std::size_t>> own_; ///< displays of an id that hold content of their own
    std::map<std::string, updated_display> updated_;
    std::map<std::string, saved_image> update_images_; ///< of each id's latest update that had one
    execution_result result_;
    std::size_t display_bytes_ = 0;
    bool clear_due_ = false;
    std::optional<error> failure_;
    std::stop_source writing_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/output_recorder.ipp>
#endif
