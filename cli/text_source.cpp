#include <ipybox/core/utf8.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <cli/notebook.hpp>
#include <cli/text_source.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace ipybox::cli {
namespace {

result<std::string> read_all(int descriptor, std::string const& name) {
    std::string text;
    std::array<char, 64 * 1024> buffer;
    for (;;) {
        auto const count = ::read(descriptor, buffer.data(), buffer.size());
        if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
        if (count == 0) return text;
        if (count < 0 && errno != EINTR) return failure(system_failure(name, errno));
    }
}

result<std::string> read_file(std::string const& file) {
    if (file == "-") return read_all(STDIN_FILENO, "standard input");
    os::unique_fd const descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor.get() < 0) return failure(system_failure(file, errno));
    return read_all(descriptor.get(), file);
}

/// Files of other systems: without byte order mark, lines that end with LF.
std::string with_unix_lines(std::string text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    for (auto at = text.find("\r\n"); at != text.npos; at = text.find("\r\n", at)) text.erase(at, 1);
    return text;
}

} // namespace

result<std::vector<cell>> read_cells(text_source const& source) {
    auto const name = source.file == "-" ? "standard input" : source.file.value_or("the code");
    auto text = source.file ? read_file(*source.file) : result<std::string>(source.code);
    if (!text) return failure(text);

    if (auto const bad = find_invalid_utf8(*text); bad != text->npos) {
        auto const line = 1 + std::count(text->begin(), text->begin() + static_cast<std::ptrdiff_t>(bad), '\n');
        return failure(errc::invalid_argument, name + ": not UTF-8: line " + std::to_string(line));
    }
    if (std::filesystem::path(name).extension() != ".ipynb") return cut_into_cells(with_unix_lines(std::move(*text)));

    auto cells = read_notebook(*text);
    if (!cells) return failure(errc::invalid_argument, name + ": " + cells.error().text());
    return cells;
}

} // namespace ipybox::cli
