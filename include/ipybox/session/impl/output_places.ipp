#pragma once

#include <ipybox/session/output_places.hpp>

#include <utility>

namespace ipybox::detail {

/// Makes a file in a directory that may have to be made itself.
inline result<os::new_file> made_in(os::directory_to_make& place, std::string_view stem, std::string_view suffix) {
    auto const directory = place.get();
    if (!directory) return tl::unexpected<error>(directory.error());
    return os::make_file(**directory, stem, suffix);
}

inline void removed_from(os::directory_to_make& place, std::filesystem::path const& file) {
    if (auto const directory = place.get()) (*directory)->remove(file.filename().string());
}

IPYBOX_DECL output_places::output_places(settings where)
    : images_(where.images_dir, where.working_dir), spill_(where.spill_dir, where.working_dir),
      afterwards_(where.afterwards) {}

IPYBOX_DECL output_places::~output_places() {
    if (afterwards_ == spilled_files::removed)
        for (auto const& file : spilled_) removed_from(spill_, file);
}

IPYBOX_DECL result<os::new_file> output_places::make_image() { return made_in(images_, "", ".png"); }

IPYBOX_DECL result<os::new_file> output_places::make_spill_file(std::string_view stem, std::string_view suffix) {
    auto file = made_in(spill_, stem, suffix);
    if (file && afterwards_ == spilled_files::removed) spilled_.insert(file->path);
    return file;
}

IPYBOX_DECL void output_places::remove_image(std::filesystem::path const& file) { removed_from(images_, file); }

IPYBOX_DECL void output_places::remove_spill_file(std::filesystem::path const& file) {
    removed_from(spill_, file);
    spilled_.erase(file);
}

} // namespace ipybox::detail
