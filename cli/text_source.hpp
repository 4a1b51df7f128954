#pragma once

#include <ipybox/core/result.hpp>

#include <cli/cells.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ipybox::cli {

/// Where the code comes from: a file (`-`: standard input), or else the text itself.
struct text_source {
    std::optional<std::string> file;
    std::string code;
    bool any_language = false; ///< a notebook need not be Python's
};

/**
 * \brief The cells of a Python file, a notebook (`*.ipynb`), standard input (`-`) or of the given code.
 * \par Errors errc::io_error — it cannot be read; errc::invalid_argument — it is not UTF-8 or a malformed notebook. The
 * text names the file.
 */
[[nodiscard]] result<std::vector<cell>> read_cells(text_source const& source);

} // namespace ipybox::cli
