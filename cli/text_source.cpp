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

/// Bytes of the character that begins with this one; 0 when none does.
std::size_t length_after(unsigned char lead) noexcept {
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return 0;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

} // namespace

std::size_t find_invalid_utf8(std::string_view text) noexcept {
    auto const byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    for (std::size_t at = 0; at < text.size();) {
        auto const lead = byte(at);
        auto const length = length_after(lead);
        if (length == 0 || text.size() - at < length) return at;
        for (auto i = at + 1; i < at + length; ++i)
            if ((byte(i) & 0xC0) != 0x80) return at;
        // Overlong forms, surrogates, and what lies above U+10FFFF.
        auto const next = length > 1 ? byte(at + 1) : 0;
        if ((lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F) || (lead == 0xF0 && next < 0x90) ||
            (lead == 0xF4 && next > 0x8F))
            return at;
        at += length;
    }
    return text.npos;
}

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
