#include <ipybox/app/directory_check.hpp>

#include <CLI/App.hpp>
#include <cli/option_checks.hpp>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

namespace ipybox::cli {
namespace {

/// Bounds of a number of seconds, and as people write them.
struct range_of_seconds {
    double least, most;
    char const* in_words;
};

/// CLI::Range would let NaN through.
std::string check_range(std::string const& text, range_of_seconds const& range) {
    auto seconds = 0.0;
    bool const is_number = CLI::detail::lexical_cast(text, seconds);
    if (is_number && seconds >= range.least && seconds <= range.most) return {};
    return "'" + text + "' is not a number of seconds " + range.in_words;
}

/// The path itself, or the nearest one above it at which there is something.
std::filesystem::path nearest_existing(std::filesystem::path path) {
    std::error_code unknown;
    while (!std::filesystem::exists(path, unknown) && path != path.parent_path()) path = path.parent_path();
    return path;
}

} // namespace

std::string check_given(std::string const& text) { return text.empty() ? "is empty" : std::string(); }

std::string check_seconds(std::string const& text) {
    return check_range(text, {0.001, 1e9, "from 0.001 to 1000000000"}); // 30 years
}

std::string check_seconds_or_none(std::string const& text) { return check_range(text, {0, 1e6, "from 0 to 1000000"}); }

/// CLI11 would take -1 for the largest number.
std::string check_count(std::string const& text) {
    std::uint64_t count = 0;
    auto const [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (wrong == std::errc() && end == text.data() + text.size()) return {};
    return "'" + text + "' is not a whole number from 0 to 18446744073709551615";
}

std::string check_output_directory(std::string const& path) {
    std::error_code unknown;
    auto const present = nearest_existing(std::filesystem::absolute(path, unknown).lexically_normal());
    if (!std::filesystem::is_directory(present, unknown)) return present.string() + " is not a directory";
    return ipybox::detail::why_not_writable(present);
}

} // namespace ipybox::cli
