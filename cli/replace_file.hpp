#pragma once

#include <ipybox/core/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox::cli {

/**
 * \brief Puts a text in the place of a file's, at once: its readers see the old one or the new one.
 * \details A link stays, and the file that it names is replaced. Mode and owner stay; a new file has the mode 0600.
 * The former file is kept as `FILE.ipybox-backup`.
 * \param before what was read; none: there was no file
 * \return the backup; empty: there was no file
 * \par Errors errc::io_error — a file cannot be written, or another program has changed it since it was read
 */
[[nodiscard]] result<std::filesystem::path>
replace_file(std::filesystem::path const& file, std::optional<std::string> const& before, std::string_view after);

} // namespace ipybox::cli
