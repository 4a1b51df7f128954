#pragma once

#include <ipybox/tools/tool_threads.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/prefer.hpp>
#include <asio/query.hpp>
#include <asio/require.hpp>

#include <memory>
#include <utility>

namespace ipybox::detail {

/// The executor of the coroutine of a host tool: whenever the coroutine runs, the thread counts as one that is in a
/// function. \par Thread safety Safe.
class counted_executor {
  public:
    counted_executor(asio::any_io_executor inner, std::shared_ptr<tool_threads const> threads) noexcept
        : inner_(std::move(inner)), threads_(std::move(threads)) {}

    template <class Work>
    void execute(Work work) const {
        inner_.execute([threads = threads_, work = std::move(work)]() mutable {
            tool_threads::running const here(*threads);
            std::move(work)();
        });
    }

    template <class Property>
        requires asio::can_query<asio::any_io_executor const&, Property const&>::value
    [[nodiscard]] decltype(auto) query(Property const& property) const {
        return asio::query(inner_, property);
    }

    template <class Property>
        requires asio::can_require<asio::any_io_executor const&, Property const&>::value
    [[nodiscard]] counted_executor require(Property const& property) const {
        return {asio::require(inner_, property), threads_};
    }

    template <class Property>
        requires asio::can_prefer<asio::any_io_executor const&, Property const&>::value
    [[nodiscard]] counted_executor prefer(Property const& property) const {
        return {asio::prefer(inner_, property), threads_};
    }

    friend bool operator==(counted_executor const& a, counted_executor const& b) noexcept {
        return a.inner_ == b.inner_ && a.threads_ == b.threads_;
    }
    friend bool operator!=(counted_executor const& a, counted_executor const& b) noexcept { return !(a == b); }

  private:
    asio::any_io_executor inner_;
    std::shared_ptr<tool_threads const> threads_;
};

} // namespace ipybox::detail
