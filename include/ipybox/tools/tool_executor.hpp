#pragma once

#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace ipybox::detail {

/**
 * \brief The executor on which a host tool is called.
 * \details Unless one is named, functions that block are called on threads of the session, at most `most_threads` of
 * them at once, and those that answer later on the executor's own strand, which they must not hold up. `own_strand`
 * spares a short function the two changes of thread.
 * \par Example
 * \snippet 18_host_object.cpp loop
 */
class tool_executor {
  public:
    /// A function that has work done elsewhere: `[window](auto work) { QMetaObject::invokeMethod(window, work); }`. It
    /// may be called from any thread.
    using post_function = std::function<void(std::function<void()>)>;

    tool_executor() = default;

    /// An Asio executor: of an I/O context, a strand, a thread pool. Its context may go first; calls then fail.
    template <class IoExecutor>
        requires std::convertible_to<IoExecutor, asio::any_io_executor> &&
                 (!std::same_as<std::remove_cvref_t<IoExecutor>, tool_executor>)
    tool_executor(IoExecutor executor) {
        asio::any_io_executor any(std::move(executor));
        is_empty_ = !any;
        if (any) executor_ = std::make_shared<context_bound_executor const>(std::move(any));
    }

    /// Any other loop, by what posts to it. Work that is dropped unrun fails its call.
    template <class Post>
        requires std::invocable<Post&, std::function<void()>> && (!std::convertible_to<Post, asio::any_io_executor>) &&
                 (!std::same_as<std::remove_cvref_t<Post>, tool_executor>)
    tool_executor(Post post) {
        post_function function(std::move(post));
        is_empty_ = !function;
        if (function) post_ = std::make_shared<post_function const>(std::move(function));
    }

    /// The strand of the executor that offers the tool: for a function that returns at once. It is called between the
    /// messages of the kernel, and holds up all else that this executor does. A blocking operation of the executor
    /// fails in it, with errc::would_deadlock.
    [[nodiscard]] static tool_executor own_strand() {
        tool_executor own;
        own.is_own_strand_ = true;
        return own;
    }

    /// Made of an Asio executor or a function that is empty itself.
    [[nodiscard]] bool is_empty() const noexcept { return is_empty_; }
    [[nodiscard]] bool is_own_strand() const noexcept { return is_own_strand_; }
    [[nodiscard]] bool is_asio() const noexcept { return executor_ != nullptr; }
    [[nodiscard]] bool is_named() const noexcept { return executor_ || post_; }

    /// Has work done there; false where that is gone. Throws what the application's function throws. An executor or a
    /// loop has to be named.
    [[nodiscard]] bool run(std::function<void()> work) const {
        if (executor_) return executor_->post(std::move(work));
        (*post_)(std::move(work));
        return true;
    }

    /// The Asio executor; none where another loop was named, or nothing.
    [[nodiscard]] std::shared_ptr<context_bound_executor const> const& asio() const noexcept { return executor_; }

  private:
    std::shared_ptr<context_bound_executor const> executor_;
    std::shared_ptr<post_function const> post_;
    bool is_own_strand_ = false;
    bool is_empty_ = false;
};

} // namespace ipybox::detail
