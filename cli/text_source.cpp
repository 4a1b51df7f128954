#include <ipybox/core/utf8.hpp>
#include <ipybox/os/read_file.hpp>

#include <cli/notebook.hpp>
#include <cli/text_source.hpp>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

namespace ipybox::cli {
namespace {

result<std::string> read(std::string const& file) {
    if (file == "-") return os::read_all(STDIN_FILENO, "standard input", os::no_limit);
    return os::read_file(file, file, os::no_limit);
}

/// Files of other systems: without byte order mark, lines that end with LF.
std::string with_unix_lines(std::string text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    for (auto at = text.find("\r\n"); at != text.npos; at = text.find("\r\n", at)) text.erase(at, 1);
    return text;
}

/// By its name; what comes from standard input has none.
bool is_notebook(text_source const& source, std::string const& text) {
    if (source.file == "-") return looks_like_notebook(text);
    auto extension = std::filesystem::path(source.file.value_or("")).extension().string();
    for (auto& letter : extension) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return extension == ".ipynb";
}

} // namespace

result<std::vector<cell>> read_cells(text_source const& source) {
    auto const name = source.file == "-" ? "standard input" : source.file.value_or("the code");
    auto text = source.file ? read(*source.file) : result<std::string>(source.code);
    if (!text) return failure(text);

    if (auto const bad = find_invalid_utf8(*text); bad != text->npos) {
        auto const line = 1 + std::count(text->begin(), text->begin() + static_cast<std::ptrdiff_t>(bad), '\n');
        return failure(errc::invalid_argument, name + ": not UTF-8: line " + std::to_string(line));
    }
    if (!is_notebook(source, *text)) return cut_into_cells(with_unix_lines(std::move(*text)));

    auto cells = read_notebook(*text, source.any_language);
    if (!cells) return failure(errc::invalid_argument, name + ": " + cells.error().text());
    return cells;
}

} // namespace ipybox::cli
