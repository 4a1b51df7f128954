#pragma once

namespace ipybox::detail {

/// While one exists, what the thread submits is what the thread is going to wait for. A request that cannot be served
/// until the thread goes on asks for it, so that it is refused whichever operation made it.
class blocking_wait {
  public:
    blocking_wait() noexcept { ++depth(); }
    blocking_wait(blocking_wait const&) = delete;
    blocking_wait& operator=(blocking_wait const&) = delete;
    ~blocking_wait() { --depth(); }

    /// Whether the calling thread is going to wait for what it submits.
    [[nodiscard]] static bool begins_here() noexcept { return depth() > 0; }

  private:
    static unsigned& depth() noexcept {
        thread_local unsigned count = 0;
        return count;
    }
};

} // namespace ipybox::detail
