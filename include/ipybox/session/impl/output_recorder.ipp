#pragma once

#include <ipybox/async/aside.hpp>
#include <ipybox/core/base64.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/execution/display_text.hpp>
#include <ipybox/os/new_file.hpp>
#include <ipybox/session/file_budget.hpp>
#include <ipybox/session/output_places.hpp>
#include <ipybox/session/output_recorder.hpp>
#include <ipybox/session/output_text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

/// The largest number of displays of one result.
inline constexpr std::size_t most_displays = 10'000;

/// A new file with these bytes; none is left behind if they cannot be written.
inline result<std::filesystem::path> saved(result<os::new_file> file, std::string_view bytes) {
    if (!file) return ipybox::failure(file);
    if (auto written = os::write_all(*file, bytes); !written) {
        std::error_code ignored;
        std::filesystem::remove(file->path, ignored);
        return ipybox::failure(written);
    }
    return std::move(file->path);
}

/// A display as it is told where there is no room for what it brings.
inline display without_data(display const& d) { return {d.kind, {}, "{}", d.id, d.image, {}}; }

IPYBOX_DECL output_recorder::output_recorder(std::shared_ptr<output_places> places, bounds const& most)
    : places_(std::move(places)), max_output_(most.max_output),
      budget_(std::make_shared<file_budget>(most.max_files, most.max_spill)),
      text_(std::make_shared<output_text>(most.max_output, places_, budget_)) {}

IPYBOX_DECL output_recorder::~output_recorder() { text_->close(); }

IPYBOX_DECL bool output_recorder::write_some() { return text_->write_some(); }

IPYBOX_DECL std::shared_ptr<output_text const> output_recorder::share_text() noexcept {
    text_is_shared_ = true;
    return text_;
}

IPYBOX_DECL bool output_recorder::write(std::string_view text) {
    (void)clear_if_due();
    return text_->append(text);
}

IPYBOX_DECL void output_recorder::expect(std::size_t bytes) { text_->expect(bytes); }

/// Puts text on lines of its own.
IPYBOX_DECL void output_recorder::write_lines(std::string_view text) {
    if (text_->in_line()) text_->append("\n");
    text_->append(text);
    if (text_->in_line()) text_->append("\n");
}

IPYBOX_DECL void output_recorder::show(display& d) {
    (void)clear_if_due();
    save_image(d);
    if (auto const* text = display_text(d)) write_lines(*text);
    if (d.kind == display::message_type::update_display_data)
        update(d);
    else
        remember(d);
}

IPYBOX_DECL void output_recorder::remember(display const& d) {
    if (displays_.size() >= most_displays) {
        ++result_.displays_left_out;
        return;
    }
    if (!d.id.empty()) own_[d.id].push_back(displays_.size());
    displays_.push_back(fitting(d, 1));
}

/// Displays of one id share what an update says, in memory as in a file: however many there are, it is kept once.
IPYBOX_DECL void output_recorder::update(display& d) {
    auto const own = own_.find(d.id);
    auto const updated = updated_.find(d.id);
    if (own == own_.end() && updated == updated_.end()) return;
    auto& latest = updated == updated_.end() ? updated_[d.id] : updated->second;
    let_go(latest.kept);
    if (own != own_.end()) {
        for (auto const index : own->second) let_go(displays_[index]);
        latest.copies += own->second.size();
        own_.erase(own);
    }
    latest.kept = fitting(d, latest.copies);
    latest.before = displays_.size();
}

/// Dropped displays take no room either.
IPYBOX_DECL void output_recorder::let_go(kept_display& kept) {
    display_bytes_ -= kept.bytes;
    if (!kept.shown.spill_file.empty()) {
        places_->remove_spill_file(kept.shown.spill_file);
        budget_->give_back_file(kept.in_file);
    }
    kept.bytes = 0;
    kept.in_file = 0;
    kept.shown.spill_file.clear();
    kept.shown.data = mime_bundle();
    kept.shown.metadata = "{}";
}

IPYBOX_DECL void output_recorder::apply_updates() {
    for (std::size_t i = 0; i < displays_.size(); ++i) {
        auto& shown = displays_[i].shown;
        auto const found = updated_.find(shown.id);
        if (found == updated_.end() || i >= found->second.before) continue;
        auto const kind = shown.kind;
        shown = found->second.kept.shown;
        shown.kind = kind;
    }
}

/// Room for an image. If there is none, that of an update takes the place of the update before it: the last state of a
/// plot is what counts.
IPYBOX_DECL bool output_recorder::take_room(display const& d, std::size_t bytes) {
    if (budget_->take_file(bytes)) return true;
    auto const before = update_images_.find(d.id);
    if (d.kind != display::message_type::update_display_data || before == update_images_.end()) return false;
    places_->remove_image(before->second.file);
    std::erase(result_.images, before->second.file);
    budget_->give_back_file(before->second.bytes);
    update_images_.erase(before);
    return budget_->take_file(bytes);
}

/// Every PNG begins with these (PNG specification, section 5.2).
inline constexpr std::string_view png_signature("\x89PNG\r\n\x1a\n", 8);

IPYBOX_DECL void output_recorder::save_image(display& d) {
    auto const* png = d.data.find("image/png");
    if (!png || !png->starts_with(png_signature)) return;
    bool const too_late = png->size() >= long_text && writing_.stop_requested();
    if (too_late || !take_room(d, png->size())) {
        ++result_.files_left_out;
        return;
    }
    auto const file = saved(places_->make_image(), *png);
    if (file) {
        d.image = *file;
        result_.images.push_back(*file);
        if (d.kind == display::message_type::update_display_data) update_images_[d.id] = {*file, png->size()};
        return;
    }
    budget_->give_back_file(png->size());
    if (!failure_) failure_ = file.error();
}

/// Writes the spill file of a display: an object of `data` and `metadata`. By hand and in pieces: JSON that a display
/// brings is text already, and may be large.
class display_file {
  public:
    display_file(os::new_file const& file, file_budget& budget, std::stop_token stop)
        : file_(file), budget_(budget), stop_(std::move(stop)) {}

    void write(display const& d) {
        put(R"({"data":{)");
        bool first = true;
        for (auto const& e : d.data.entries()) {
            if (!std::exchange(first, false)) put(",");
            put(json_text(nlohmann::json(e.type)));
            put(":");
            put_value(e);
        }
        put(R"(},"metadata":)");
        put(d.metadata);
        put("}");
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] bool has_room() const noexcept { return has_room_; }
    [[nodiscard]] std::optional<error> const& failure() const noexcept { return failure_; }

  private:
    static constexpr std::size_t piece = std::size_t(3) << 18; // base64 takes three bytes at a time

    void put_value(mime_bundle::entry const& e) {
        if (e.kind == mime_bundle::encoding::json) return put(e.value);
        bool const is_text = e.kind == mime_bundle::encoding::text;
        put("\"");
        for (std::string_view rest = e.value; !rest.empty() && has_room_;) {
            auto const taken = rest.substr(0, is_text ? whole_characters(rest, piece) : piece);
            auto const shown = is_text ? json_text(nlohmann::json(taken)) : base64_encode(taken);
            put(is_text ? std::string_view(shown).substr(1, shown.size() - 2) : std::string_view(shown));
            rest.remove_prefix(taken.size());
        }
        put("\"");
    }

    void put(std::string_view text) {
        if (stop_.stop_requested()) has_room_ = false;
        if (failure_ || !has_room_) return;
        auto const room = budget_.take_bytes(text.size());
        bytes_ += room;
        has_room_ = room == text.size();
        if (!has_room_) return;
        if (auto written = os::write_all(file_, text); !written) failure_ = std::move(written).error();
    }

    os::new_file const& file_;
    file_budget& budget_;
    std::stop_token const stop_;
    std::uint64_t bytes_ = 0;
    bool has_room_ = true;
    std::optional<error> failure_;
};

/// The display as it is kept: its values in a file once the bound is used up.
IPYBOX_DECL output_recorder::kept_display output_recorder::fitting(display const& d, std::size_t copies) {
    auto const size = d.data.size() + copies * d.metadata.size();
    if (display_bytes_ + size <= max_output_) {
        display_bytes_ += size;
        return {d, size, 0};
    }
    kept_display kept{without_data(d), 0, 0};
    auto const stop = size >= long_text ? writing_.get_token() : std::stop_token();
    if (stop.stop_requested() || !budget_->take_file(0)) {
        ++result_.files_left_out;
        return kept;
    }
    auto const file = places_->make_spill_file("ipybox-display-", ".json");
    if (!file) {
        budget_->give_back_file(0);
        if (!failure_) failure_ = file.error();
        return kept;
    }
    display_file written(*file, *budget_, stop);
    written.write(d);
    if (written.has_room() && !written.failure()) {
        kept.shown.spill_file = file->path;
        kept.in_file = written.bytes();
        return kept;
    }
    places_->remove_spill_file(file->path);
    budget_->give_back_file(written.bytes());
    if (!written.has_room()) ++result_.files_left_out;
    if (!failure_) failure_ = written.failure();
    return kept;
}

IPYBOX_DECL void output_recorder::clear(bool wait) {
    clear_due_ = true;
    if (!wait) (void)clear_if_due();
}

IPYBOX_DECL bool output_recorder::clear_if_due() {
    if (!std::exchange(clear_due_, false)) return false;
    text_->clear();
    result_.images.clear(); // the files stay: events have told where they are
    for (auto& kept : displays_) let_go(kept);
    for (auto& [id, latest] : updated_) let_go(latest.kept);
    displays_.clear();
    own_.clear();
    updated_.clear();
    update_images_.clear();
    result_.displays_left_out = 0;
    return true;
}

IPYBOX_DECL std::optional<error> output_recorder::failure() const { return failure_ ? failure_ : text_->failure(); }

IPYBOX_DECL execution_result output_recorder::finish() {
    apply_updates();
    result_.displays.reserve(displays_.size());
    for (auto& kept : displays_) result_.displays.push_back(std::move(kept.shown));
    if (text_is_shared_)
        text_->finish();
    else
        result_.text = text_->take();
    result_.spill_file = text_->spill_file();
    return std::move(result_);
}

} // namespace ipybox::detail
