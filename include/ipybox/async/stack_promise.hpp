#pragma once

#include <ipybox/core/config.hpp>

#include <atomic>
#include <optional>
#include <utility>

namespace ipybox::detail {

/// A promise and its future in one: a thread waits for the value that another one sets. It lives on the stack of the
/// thread that waits.
template <class T>
class stack_promise {
  public:
    void set_value(T value) {
        value_.emplace(std::move(value));
        // Nothing of *this may be touched once the flag is seen: the waiter's frame may be gone.
        // notify is made on the address only, which std::atomic allows.
        arrived_.store(true, std::memory_order_release);
        arrived_.notify_one();
    }

    [[nodiscard]] T get() {
        arrived_.wait(false, std::memory_order_acquire);
        return std::move(*value_);
    }

  private:
    std::optional<T> value_;
    std::atomic<bool> arrived_ = false;
};

} // namespace ipybox::detail
