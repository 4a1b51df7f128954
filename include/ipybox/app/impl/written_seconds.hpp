#pragma once

#include <chrono>
#include <string>

namespace ipybox::detail {

/// "90", "0.5"
inline std::string written_seconds(std::chrono::milliseconds time) {
    auto const whole = time.count() / 1000, tenths = time.count() % 1000 / 100;
    return std::to_string(whole) + (whole < 10 && tenths > 0 ? "." + std::to_string(tenths) : "");
}

} // namespace ipybox::detail
