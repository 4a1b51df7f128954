#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/os/new_file.hpp>
#include <ipybox/session/output_recorder.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

/// What one result holds, however small they are.
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

inline std::size_t display_size(display const& d) noexcept { return d.data.size() + d.metadata.size(); }

IPYBOX_DECL void output_recorder::write(std::string_view text) {
    clear_if_due();
    text_.append(text);
}

IPYBOX_DECL void output_recorder::show(display& d) {
    clear_if_due();
    save_image(d);
    if (d.kind == display_kind::update_display_data) {
        for (auto& earlier : result_.displays) {
            if (d.id.empty() || earlier.id != d.id) continue;
            if (earlier.spill_file.empty()) display_bytes_ -= display_size(earlier);
            auto const kind = earlier.kind;
            earlier = fitting(d);
            earlier.kind = kind;
        }
    } else {
        if (auto const* plain = d.data.find("text/plain")) text_.append(*plain);
        if (result_.displays.size() < most_displays)
            result_.displays.push_back(fitting(d));
        else
            ++result_.displays_left_out;
    }
}

IPYBOX_DECL void output_recorder::save_image(display& d) {
    auto const* png = d.data.find("image/png");
    if (!png) return;
    auto const file = saved(os::make_file(places_.images_dir, "", ".png"), *png);
    if (file) {
        d.image = *file;
        result_.images.push_back(*file);
    } else if (!failure_) {
        failure_ = file.error();
    }
}

/// The display as it is kept: its values in a file once the bound is used up.
IPYBOX_DECL display output_recorder::fitting(display const& d) {
    auto const size = display_size(d);
    if (display_bytes_ + size <= places_.max_output) {
        display_bytes_ += size;
        return d;
    }
    display kept = d;
    kept.data = mime_bundle();
    kept.metadata = "{}";
    nlohmann::json const whole = {{"data", d.data.to_json()},
                                  {"metadata", nlohmann::json::parse(d.metadata, nullptr, false)}};
    auto const text = json_text(whole);
    auto const file = saved(os::make_file(places_.spill_dir, "ipybox-display-", ".json"), text);
    if (file)
        kept.spill_file = *file;
    else if (!failure_)
        failure_ = file.error();
    return kept;
}

IPYBOX_DECL void output_recorder::clear(bool wait) {
    clear_due_ = true;
    if (!wait) clear_if_due();
}

IPYBOX_DECL void output_recorder::clear_if_due() {
    if (!std::exchange(clear_due_, false)) return;
    text_.clear();
    result_.images.clear(); // the files stay: events have told where they are
    result_.displays.clear();
    result_.displays_left_out = 0;
    display_bytes_ = 0;
}

IPYBOX_DECL std::optional<error> output_recorder::failure() const { return failure_ ? failure_ : text_.failure(); }

IPYBOX_DECL execution_result output_recorder::finish() {
    result_.text = text_.take();
    result_.spill_file = text_.spill_file();
    return std::move(result_);
}

} // namespace ipybox::detail
