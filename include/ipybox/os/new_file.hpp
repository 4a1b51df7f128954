#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <filesystem>
#include <string_view>

namespace ipybox::os {

class directory;

/// A file that was just made, open for writing.
struct new_file {
    std::filesystem::path path;
    unique_fd descriptor;
};

/// Makes a file `<stem><random><suffix>` that did not exist. Mode 0600.
[[nodiscard]] result<new_file> make_file(directory const& in, std::string_view stem, std::string_view suffix);

/// Writes all of it.
[[nodiscard]] result<void> write_all(new_file const& file, std::string_view bytes);

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/new_file.ipp>
#endif
