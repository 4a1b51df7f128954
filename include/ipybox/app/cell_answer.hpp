#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/execution/job_output.hpp>
#include <ipybox/execution/job_state.hpp>
#include <ipybox/mcp/call_result.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox {

/// The state of a cell that a model asked for.
struct cell_view {
    std::string id;
    detail::job_state state = detail::job_state::waiting;
    detail::job_output output;                       ///< from where it is wanted
    std::optional<result<execution_result>> outcome; ///< of a cell that has ended
    std::chrono::seconds age{0};                     ///< since it was submitted
    std::vector<std::string> waits_for =
        {}; ///< actions that wait for the user's approval, as `safe_text::title` names them
    std::vector<std::string> notes = {}; ///< what else is to be told
    std::string session = {};            ///< whose cell it is, where a client has several
};

namespace detail {

/// How tools name a cell: `id="1", session="a"`.
[[nodiscard]] std::string arguments_for(std::string_view id, std::string_view session);

} // namespace detail

/// How much of a cell one answer has. The largest answer has less than 8 MiB as one line of JSON: clients drop longer
/// ones.
struct answer_bounds {
    static constexpr std::size_t most_characters = 250'000;               ///< of output, whatever was asked for
    static constexpr std::size_t most_image_bytes = std::size_t(4) << 20; ///< of all images, in base64
    static constexpr std::size_t most_images = 32;                        ///< as content, and as links
    static constexpr std::size_t most_of_traceback = 20'000;              ///< characters, whatever was asked for
    static constexpr std::size_t least_of_traceback = 5000;               ///< and so many are shown in any case
    static constexpr std::size_t most_of_note = 2000;                     ///< characters
    static constexpr std::size_t most_actions = 5;                        ///< of those that wait, by their names

    /// The part that stays of output that is too long.
    enum class part {
        both_ends, ///< of a cell as a whole
        beginning  ///< of output that is read piece by piece
    };

    std::size_t max_output_chars = 5000;
    part kept = part::both_ends;
};

/// "waiting", "running", "ok", "error", "timed_out", "cancelled" or "kernel_died".
[[nodiscard]] std::string_view status_of(cell_view const& cell) noexcept;

/**
 * \brief The answer of a tool about a cell: its output as text, the images as links and as content, and both in
 * `structuredContent`.
 * \details Output before an error, a timeout or a cancellation is part of it. Text that is too long has its middle left
 * out, with a sentence that says how it can be read; an image that is too large is only linked.
 */
[[nodiscard]] mcp::call_result answer_about(cell_view const& cell, answer_bounds const& bounds);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/cell_answer.ipp>
#endif
