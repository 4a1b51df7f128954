#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/owning_process.hpp>

#include <atomic>
#include <memory>
#include <new>
#include <utility>

namespace ipybox::detail {

/// Keeps a pointer for ever, so that leak detectors still find what it points to. Takes no lock: another thread may
/// have held it when the process forked.
inline void leave_alone(void const* object) noexcept {
    struct left {
        void const* object;
        left* next;
    };
    static std::atomic<left*> last = nullptr;
    auto* const added = new (std::nothrow) left{object, last};
    if (!added) return;
    while (!last.compare_exchange_weak(added->next, added)) {}
}

/**
 * \brief Deletes objects in the process that made them, and leaves the copies of its forks alone.
 * \details For what has threads, or works on an I/O context that is run: in a fork its end would wait for threads that
 * are not there, or would take descriptors out of the parent's event queue, which the fork shares.
 */
class delete_in_owner {
  public:
    [[nodiscard]] bool is_owner() const noexcept { return owner_.is_this(); }

    template <class T>
    void operator()(T* object) const noexcept {
        if (is_owner())
            delete object;
        else
            leave_alone(object);
    }

  private:
    owning_process owner_;
};

/// An object of one owner that is deleted in the process that made it.
template <class T>
using process_ptr = std::unique_ptr<T, delete_in_owner>;

/// As std::make_shared, for an object that is deleted in the process that makes it.
template <class T, class... Arguments>
std::shared_ptr<T> make_shared_in_process(Arguments&&... arguments) {
    return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...), delete_in_owner());
}

} // namespace ipybox::detail
