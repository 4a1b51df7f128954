#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/side_threads.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace ipybox::detail {

/// Texts of so many bytes are worked on aside: that takes longer than a thread does to begin, and longer than other
/// handlers should wait.
inline constexpr std::size_t long_text = std::size_t(1) << 20;

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
    auto const waiting = std::make_shared<completion<work_outcome<Work>>>(std::move(done));
    auto const owned = std::make_shared<Work>(std::move(work));
    auto const finish = [waiting, owned] { (*waiting)(outcome_of(*owned)); };
    try {
        threads.begin(finish);
    } catch (std::system_error const&) { finish(); }
}

/**
 * \brief Does work on one of `threads`, while the coroutine waits and its executor runs other handlers.
 * \details As `begin_aside`. The work owns what it touches, or refers to what is destroyed behind `threads`, since
 * these wait for it. An exception of the work is thrown to the coroutine.
 */
template <class Work>
asio::awaitable<std::invoke_result_t<Work&>> aside(side_threads& threads, Work work) {
    using outcome = work_outcome<Work>;
    auto const begin = [&threads, &work](completion<outcome> done) {
        begin_aside(threads, std::move(work), std::move(done));
    };
    auto came = co_await await_completion<outcome>(begin);
    if (auto const* const thrown = std::get_if<1>(&came)) std::rethrow_exception(*thrown);
    co_return std::move(std::get<0>(came));
}

} // namespace ipybox::detail
