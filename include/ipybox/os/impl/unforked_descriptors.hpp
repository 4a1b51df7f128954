#pragma once

#include <ipybox/core/config.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

namespace ipybox::os::detail {

/// The descriptors that no fork keeps; `mutex` is held by the caller. The child's handler makes system calls only.
class unforked_descriptors {
  public:
    constexpr unforked_descriptors() noexcept = default;

    void make_room(std::size_t count) {
        if (numbers_.capacity() - numbers_.size() < count) numbers_.reserve(2 * numbers_.size() + count);
    }

    void add(int descriptor) { numbers_.push_back(descriptor); }

    void remove(int descriptor) noexcept {
        auto const found = std::find(numbers_.begin(), numbers_.end(), descriptor);
        if (found != numbers_.end()) numbers_.erase(found);
    }

    /// For pthread_atfork(3), which may fail for want of memory.
    [[nodiscard]] static bool handle_forks();

    std::mutex mutex;

  private:
    void in_child() noexcept {
        if (!numbers_.empty()) replace_all();
        mutex.unlock();
    }

    void replace_all() noexcept {
        // The other end stays open as long as the process does: nothing comes from it, and what is written waits in it.
        int silent[2] = {-1, -1};
        bool const made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, silent) == 0;
        for (int const number : numbers_) {
            // Without a socket to put there: closed, so that at least the other end sees our parent's end.
            if (made)
                (void)::dup3(silent[0], number, O_CLOEXEC);
            else
                (void)::close(number);
        }
        if (made) (void)::close(silent[0]);
    }

    std::vector<int> numbers_; ///< some twice: from the time when they were made, and of what watches them
};

/// Never destroyed: forks may come at the very end of the program.
union lasting_descriptors {
    constexpr lasting_descriptors() noexcept : all() {}
    lasting_descriptors(lasting_descriptors const&) = delete;
    lasting_descriptors& operator=(lasting_descriptors const&) = delete;
    ~lasting_descriptors() {} // NOLINT(modernize-use-equals-default): that would be deleted

    unforked_descriptors all;
};

// Both are there before the program begins. The child of a fork that comes while another thread makes one would wait
// for it, and has no such thread.
inline constinit lasting_descriptors unforked_of_this_process;
inline bool const forks_are_handled = unforked_descriptors::handle_forks();

inline bool unforked_descriptors::handle_forks() {
    return ::pthread_atfork([] { unforked_of_this_process.all.mutex.lock(); },
                            [] { unforked_of_this_process.all.mutex.unlock(); },
                            [] { unforked_of_this_process.all.in_child(); }) == 0;
}

} // namespace ipybox::os::detail
