#pragma once

#include <ipybox/app/call_questions.hpp>
#include <ipybox/app/impl/cell_attendance.hpp>
#include <ipybox/app/impl/output_progress.hpp>
#include <ipybox/app/impl/text_answer.hpp>

#include <asio/steady_timer.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

/// How often output is looked at for a client that wants to hear of progress.
inline constexpr std::chrono::milliseconds progress_step{500};

IPYBOX_DECL asio::awaitable<void> attend(asio::any_io_executor executor, std::shared_ptr<mcp::server::call> call,
                                         std::shared_ptr<kept_cell> cell,
                                         std::optional<std::chrono::steady_clock::time_point> until,
                                         std::string session) {
    using clock = std::chrono::steady_clock;
    auto const alarm = std::make_shared<asio::steady_timer>(executor);
    auto const wake = [alarm] { alarm->cancel(); };
    auto const questions = call->can_elicit() ? call_questions::make(executor, call, wake, session) : nullptr;
    kept_cell::attendance const here(cell, questions, wake);
    output_progress told(call, cell->handle());
    std::optional<clock::time_point> asked_since;
    while (!cell->has_ended() && !call->cancelled()) {
        auto const now = clock::now();
        bool const asks = questions && questions->open();
        if (asks && !asked_since) asked_since = now;
        if (!asks && asked_since && until) *until += now - *asked_since;
        if (!asks) asked_since.reset();
        if (until && now >= *until && !asks) co_return;
        auto next = until && !asks ? *until : clock::time_point::max();
        if (call->wants_progress()) {
            told.report(now);
            next = std::min(next, now + progress_step);
        }
        alarm->expires_at(next);
        co_await rest(*alarm);
    }
}

} // namespace ipybox::detail
