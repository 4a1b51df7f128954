#pragma once

#include <ipybox/core/result.hpp>

#include <cli/cells.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::cli {

/// Where the code comes from: a file (`-`: standard input), or else the text itself.
struct text_source {
    std::optional<std::string> file;
    std::string code;
};

/// The position of the first byte that is not part of valid UTF-8; `npos` when all is well.
[[nodiscard]] std::size_t find_invalid_utf8(std::string_view text) noexcept;

/**
 * \brief The cells of a Python file, a notebook (`*.ipynb`), standard input (`-`) or of the given code.
 * \par Errors errc::io_error — it cannot be read; errc::invalid_argument — it is not UTF-8 or a malformed notebook. The text names the file.
 */
[[nodiscard]] result<std::vector<cell>> read_cells(text_source const& source);

} // namespace ipybox::cli
