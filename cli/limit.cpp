#include <cli/limit.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::cli {
namespace {

using number = std::uint64_t;

/// A whole number of at least 1; none for other texts.
std::optional<number> whole(std::string_view text) {
    number value = 0;
    auto const [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || end != text.data() + text.size() || value == 0) return std::nullopt;
    return value;
}

std::optional<number> bytes(std::string_view text) {
    static constexpr std::array<std::pair<char, int>, 4> units{{{'K', 10}, {'M', 20}, {'G', 30}, {'T', 40}}};
    int shift = 0;
    for (auto const& [unit, its_shift] : units)
        if (text.ends_with(unit)) shift = its_shift;
    if (shift != 0) text.remove_suffix(1);
    auto const value = whole(text);
    if (!value || *value > std::numeric_limits<number>::max() >> shift) return std::nullopt;
    return *value << shift;
}

std::optional<std::chrono::seconds> seconds(std::string_view text) {
    auto const value = whole(text);
    if (!value || *value > 1'000'000'000) return std::nullopt;
    return std::chrono::seconds(*value);
}

/// False where the value is not what `read` takes.
template <class T>
bool set(std::optional<T>& limit, std::string_view value, std::optional<T> (*read)(std::string_view)) {
    limit = value == "none" ? std::nullopt : read(value);
    return limit || value == "none";
}

} // namespace

result<void> set_limit(sandbox_limits& limits, std::string_view text) {
    auto const equals = text.find('=');
    auto const name = text.substr(0, equals);
    auto const value = equals == text.npos ? std::string_view() : text.substr(equals + 1);
    auto const wrong = [&](std::string_view wanted) {
        return failure(errc::invalid_argument, "'" + std::string(text) + "' is no limit: " + std::string(wanted));
    };
    auto const size = "write a number of bytes, as in " + std::string(name) + "=4G, or none";
    auto const count = "write a number of at least 1, as in " + std::string(name) + "=500, or none";
    if (name == "memory") return set(limits.memory, value, bytes) ? result<void>() : wrong(size);
    if (name == "kernel-memory") return set(limits.kernel_memory, value, bytes) ? result<void>() : wrong(size);
    if (name == "file-size") return set(limits.file_size, value, bytes) ? result<void>() : wrong(size);
    if (name == "processes") return set(limits.processes, value, whole) ? result<void>() : wrong(count);
    if (name == "open-files") return set(limits.open_files, value, whole) ? result<void>() : wrong(count);
    if (name == "cpu-time")
        return set(limits.cpu_time, value, seconds) ? result<void>()
                                                    : wrong("write whole seconds, as in cpu-time=60, or none");
    return wrong("there are memory, kernel-memory, processes, cpu-time, file-size and open-files");
}

std::vector<std::string> limit_names() {
    return {"memory", "kernel-memory", "processes", "cpu-time", "file-size", "open-files"};
}

} // namespace ipybox::cli
