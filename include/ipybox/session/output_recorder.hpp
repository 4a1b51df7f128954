#pragma once

#include <ipybox/execution/execution_result.hpp>
#include <ipybox/execution/output_chunk.hpp>
#include <ipybox/session/output_text.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief Collects what one execution brings into its result: text, images as files, displays.
 * \details Bounded: see executor_options::max_output. Nothing here fails; `failure()` tells what could not be written.
 */
class output_recorder {
  public:
    struct places {
        std::filesystem::path images_dir;
        std::filesystem::path spill_dir;
        std::size_t max_output = 0;
    };

    explicit output_recorder(places where) : places_(where), text_(where.max_output, where.spill_dir) {}

    void write(std::string_view text);

    /// Saves its image, remembers it or updates the display of the same id. Fills in `image` and `spill_file`.
    void show(display& d);

    void clear(bool wait);

    /// Why a file could not be written, if one could not.
    [[nodiscard]] std::optional<error> failure() const;

    /// The result; afterwards the recorder is spent.
    [[nodiscard]] execution_result finish();

  private:
    void clear_if_due();
    void save_image(display& d);
    [[nodiscard]] display fitting(display const& d);

    places places_;
    output_text text_;
    execution_result result_;
    std::size_t display_bytes_ = 0;
    bool clear_due_ = false;
    std::optional<error> failure_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/output_recorder.ipp>
#endif
