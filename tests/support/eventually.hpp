#pragma once

#include <chrono>
#include <thread>

namespace ipybox::test {

/// Waits until something is so.
template <class Condition>
bool eventually(Condition condition) {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

} // namespace ipybox::test
