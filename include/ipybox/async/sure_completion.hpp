#pragma once

#include <ipybox/async/completion.hpp>

#include <utility>

namespace ipybox::detail {

/// A completion that delivers in any case: one that is dropped, with the context that it waits in, say, delivers the
/// value that it was made with.
template <class T>
class sure_completion {
  public:
    sure_completion(completion<T> done, T otherwise) : done_(std::move(done)), otherwise_(std::move(otherwise)) {}
    sure_completion(sure_completion&&) noexcept = default;
    sure_completion& operator=(sure_completion&&) = delete;
    ~sure_completion() {
        try {
            if (done_) done_(std::move(otherwise_));
        } catch (...) {} // NOLINT(bugprone-empty-catch): out of memory, and a destructor must not throw
    }

    void complete(T value) { done_(std::move(value)); }

  private:
    completion<T> done_;
    T otherwise_;
};

} // namespace ipybox::detail
