#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/async/side_threads.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/move_only_function.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

namespace ipybox::detail {

/// Texts of so many bytes are worked on aside: that takes longer than a thread does to begin, and longer than other
/// handlers should wait.
inline constexpr std::size_t long_text = std::size_t(1) << 20;

/// Does work on one of `threads`, or in place if the system makes none. It must not throw.
void begin_in_thread(side_threads& threads, move_only_function<void()> work);

/// The same, while the coroutine waits. An exception of the work is thrown to it.
asio::awaitable<void> done_aside(side_threads& threads, move_only_function<void()> work);

/// The outcome of work: its value, or the exception that it threw.
template <class Work>
using work_outcome = std::variant<std::invoke_result_t<Work&>, std::exception_ptr>;

template <class Work>
work_outcome<Work> outcome_of(Work& work) {
    try {
        return work_outcome<Work>(std::in_place_index<0>, work());
    } catch (...) { return work_outcome<Work>(std::in_place_index<1>, std::current_exception()); }
}

/**
 * \brief Does work on one of `threads`, and tells its outcome.
 * \details The work is destroyed on its thread. If the system makes no thread, it is done in place.
 */
template <class Work>
void begin_aside(side_threads& threads, Work work, completion<work_outcome<Work>> done) {
    begin_in_thread(threads, [work = std::move(work), done = std::move(done)]() mutable { done(outcome_of(work)); });
}

/**
 * \brief Does work on one of `threads`, while the coroutine waits and its executor runs other handlers.
 * \details As `begin_aside`. The work owns what it touches, or refers to what is destroyed behind `threads`, since
 * these wait for it. An exception of the work is thrown to the coroutine.
 */
template <class Work>
asio::awaitable<std::invoke_result_t<Work&>> aside(side_threads& threads, Work work) {
    auto const value = place_for<std::invoke_result_t<Work&>>();
    move_only_function<void()> fill = [value, work = std::move(work)]() mutable { value->emplace(work()); };
    co_await done_aside(threads, std::move(fill));
    co_return std::move(**value);
}

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/async/impl/aside.ipp>
#endif
