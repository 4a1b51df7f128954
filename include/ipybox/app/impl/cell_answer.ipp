#pragma once

#include <ipybox/app/cell_answer.hpp>
#include <ipybox/app/middle_cut.hpp>
#include <ipybox/core/base64.hpp>
#include <ipybox/core/error.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <ranges>
#include <utility>

namespace ipybox {
namespace detail {

IPYBOX_DECL std::string arguments_for(std::string_view id, std::string_view session) {
    auto text = "id=\"" + std::string(id) + "\"";
    if (!session.empty()) text.append(", session=\"").append(session).append("\"");
    return text;
}

/// The output of a cell that has ended, however it ended; nullptr where nothing was run.
inline execution_result const* brought_by(cell_view const& cell) noexcept {
    if (!cell.outcome) return nullptr;
    return *cell.outcome ? &**cell.outcome : cell.outcome->error().output();
}

inline std::string_view without_white_end(std::string_view text) noexcept {
    auto const last = text.find_last_not_of(" \t\r\n");
    return text.substr(0, last == text.npos ? 0 : last + 1);
}

/// Adds a paragraph of our own. Brackets tell it from what the code printed.
inline void add_note(std::string& text, std::string_view note) {
    if (!text.empty()) text += "\n\n";
    text.append("[").append(note).append("]");
}

/// Output as it is shown.
struct shown_output {
    std::string text;
    std::uint64_t to = 0; ///< the position behind what is shown, or behind the end that is
};

/// How what is left out of the output can be had.
inline std::string way_to_rest(cell_view const& cell, middle_cut const& cut, std::uint64_t position) {
    auto text = std::to_string(cut.left_out) + " characters are left out here; cell_output(" +
                arguments_for(cell.id, cell.session) + ", from=" + std::to_string(position) + ") reads on from there";
    if (!cell.output.spill_file.empty()) text += ", and all of it is in " + cell.output.spill_file.string();
    return text;
}

inline shown_output output_of(cell_view const& cell, answer_bounds const& bounds) {
    auto const most = std::min(bounds.max_output_chars, answer_bounds::most_characters);
    bool const has_both_ends = bounds.kept == answer_bounds::part::both_ends;
    auto const text = has_both_ends ? without_white_end(cell.output.text) : std::string_view(cell.output.text);
    auto cut = has_both_ends ? cut_middle(text, most) : cut_end(text, most);
    auto const& all = cell.output;
    auto rest = all.from + cut.head.size();
    if (cut.left_out > 0 && all.left_out > 0 && cut.head.size() > all.gap_begin) {
        // A line stands for a part that is in a file alone: what is read on begins behind that part.
        auto const behind = text.substr(std::min(all.gap_end, text.size()));
        cut = {text.substr(0, text.size() - behind.size()), {}, count_characters(behind)};
        rest = all.behind_gap;
    }
    shown_output shown{std::string(cut.head), all.to};
    if (cut.left_out == 0) return shown;
    add_note(shown.text, way_to_rest(cell, cut, rest));
    if (!has_both_ends) shown.to = rest;
    if (!cut.tail.empty()) shown.text.append("\n\n").append(cut.tail);
    return shown;
}

/// A text with its middle left out, where it is long.
inline std::string shortened(std::string_view text, std::size_t most) {
    auto const cut = cut_middle(text, most);
    std::string kept(cut.head);
    if (cut.left_out > 0) {
        add_note(kept, std::to_string(cut.left_out) + " characters are left out here");
        kept.append("\n\n").append(cut.tail);
    }
    return kept;
}

/// The traceback, whose length is the code's: it is as long as the output may be, within bounds.
inline std::string traceback_of(error::python_exception const& raised, answer_bounds const& bounds) {
    std::string text;
    for (auto const& line : raised.traceback) text.append(text.empty() ? "" : "\n").append(line);
    if (text.empty()) text = raised.ename + ": " + raised.evalue;
    return shortened(text, std::clamp(bounds.max_output_chars, bounds.least_of_traceback, bounds.most_of_traceback));
}

/// The fate of the code, as far as the text of its error does not say it.
inline std::string end_of(error const& why) {
    if (why == errc::python_error) return {};
    auto const* brought = why.output();
    std::string state = " before it began";
    if (brought != nullptr)
        state = brought->kernel_restarted ? "; the kernel was replaced, and all variables are gone"
                                          : "; variables are still there";
    if (why == condition::timeout) return "the cell was interrupted: " + why.text() + state;
    if (why == errc::cancelled) return "the cell was cancelled" + state;
    return why.text();
}

/// The images of a cell.
struct cell_images {
    std::string links;
    std::vector<mcp::content> shown;
    std::vector<std::string> files;
    std::string left_out; ///< where those are that have no link; empty: all have one
};

inline constexpr std::array<std::string_view, 4> image_types{"image/png", "image/jpeg", "image/gif", "image/webp"};

inline void add_content(cell_images& images, display const& shown, std::size_t& room) {
    for (auto const type : image_types) {
        auto const* bytes = shown.data.find(type);
        if (bytes == nullptr || bytes->empty()) continue;
        auto const size = (bytes->size() + 2) / 3 * 4;
        if (size > room) continue;
        room -= size;
        mcp::content::image image{base64_encode(*bytes), std::string(type)};
        images.shown.emplace_back(std::move(image));
        return; // one of several forms of the same is enough
    }
}

inline cell_images images_of(execution_result const& brought) {
    cell_images images;
    auto room = answer_bounds::most_image_bytes;
    for (auto const& shown : brought.displays)
        if (images.shown.size() < answer_bounds::most_images) add_content(images, shown, room);
    for (auto const& file : brought.images) {
        std::error_code ignored;
        auto const path = std::filesystem::absolute(file, ignored);
        if (images.files.size() == answer_bounds::most_images) {
            images.left_out = std::to_string(brought.images.size() - images.files.size()) + " more images are in " +
                              path.parent_path().string();
            break;
        }
        images.files.push_back(path.string());
        images.links += "- [" + path.stem().string() + "](" + path.string() + ")\n";
    }
    return images;
}

inline std::string waiting_text(cell_view const& cell) {
    std::string text;
    for (auto const& action : cell.waits_for | std::views::take(answer_bounds::most_actions))
        text.append(text.empty() ? "" : ", ").append(action);
    if (auto const all = cell.waits_for.size(); all > answer_bounds::most_actions)
        text += " and " + std::to_string(all - answer_bounds::most_actions) + " more";
    return "it waits for the user's approval: " + text;
}

inline std::string running_text(cell_view const& cell) {
    auto const named = arguments_for(cell.id, cell.session);
    std::string text = "cell \"" + cell.id + "\"" +
                       (cell.state == detail::job_state::waiting ? " waits for its turn" : " is still running") +
                       " after " + std::to_string(cell.age.count()) + " s";
    if (!cell.waits_for.empty()) text += "; " + waiting_text(cell);
    return text + ". wait_for_cell(" + named + ") waits for its end, interrupt_cell(" + named + ") stops it";
}

inline std::string text_about(cell_view const& cell, std::string text, cell_images const& images,
                              answer_bounds const& bounds) {
    if (cell.outcome && !*cell.outcome) {
        auto const& why = cell.outcome->error();
        if (auto const* raised = why.exception())
            text.append(text.empty() ? "" : "\n\n").append(traceback_of(*raised, bounds));
        if (auto const end = end_of(why); !end.empty()) add_note(text, end);
    }
    auto const* brought = brought_by(cell);
    if (cell.outcome && *cell.outcome && brought->exit_code)
        add_note(text, "the code has ended its kernel with exit(" + std::to_string(*brought->exit_code) +
                           "); the next cell gets a fresh one");
    // The first cell in a fresh kernel often fails, for what it looks for is gone.
    bool const ran_to_its_end = cell.outcome && (*cell.outcome || cell.outcome->error() == errc::python_error);
    if (ran_to_its_end && brought != nullptr && brought->kernel_restarted)
        add_note(text, "this is a fresh kernel: the one before had ended, and variables of earlier cells are gone");
    if (brought != nullptr && brought->files_left_out > 0)
        add_note(text, std::to_string(brought->files_left_out) +
                           " files of images and displays were too many, and not written");
    if (!cell.outcome) add_note(text, running_text(cell));
    for (auto const& note : cell.notes) add_note(text, shortened(note, answer_bounds::most_of_note));
    if (!images.links.empty()) text += "\n\nGenerated images:\n\n" + images.links;
    if (!images.left_out.empty()) add_note(text, images.left_out);
    return text;
}

} // namespace detail

IPYBOX_DECL std::string_view status_of(cell_view const& cell) noexcept {
    if (!cell.outcome) return cell.state == detail::job_state::waiting ? "waiting" : "running";
    if (*cell.outcome) return "ok";
    auto const& why = cell.outcome->error();
    if (why == condition::timeout) return "timed_out";
    if (why == errc::cancelled) return "cancelled";
    return why == condition::kernel_lost ? "kernel_died" : "error";
}

IPYBOX_DECL mcp::call_result answer_about(cell_view const& cell, answer_bounds const& bounds) {
    auto const output = detail::output_of(cell, bounds);
    auto const* brought = detail::brought_by(cell);
    auto images = brought != nullptr ? detail::images_of(*brought) : detail::cell_images();
    auto text = detail::text_about(cell, output.text, images, bounds);
    nlohmann::ordered_json structured{
        {"id", cell.id}, {"status", status_of(cell)}, {"output", text}, {"to", output.to}};
    if (!images.files.empty()) structured["images"] = images.files;

    mcp::call_result answer;
    answer.is_error = cell.outcome && !*cell.outcome;
    // Some models' interfaces take no empty text.
    if (text.empty() && images.shown.empty()) text = "[no output]";
    if (!text.empty()) answer.content.emplace_back(mcp::content::text{std::move(text)});
    std::move(images.shown.begin(), images.shown.end(), std::back_inserter(answer.content));
    // Text that is no UTF-8 is replaced: a result is sent whatever the code has printed.
    if (auto json = mcp::raw_json::read(json_text(structured))) answer.structured_content = *std::move(json);
    return answer;
}

} // namespace ipybox
