#pragma once

#include <ipybox/core/forked_away.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/session/job_core.hpp>
#include <ipybox/session/output_text.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL void job_core::begin(std::shared_ptr<output_text const> text) {
    std::scoped_lock const lock(mutex_);
    text_ = std::move(text);
    if (!outcome_) state_ = job_state::running;
}

IPYBOX_DECL job_core::waits job_core::end(result<execution_result> outcome) {
    waits told;
    {
        std::scoped_lock const lock(mutex_);
        outcome_.emplace(std::move(outcome));
        state_ = job_state::ended;
        told.swap(waits_);
    }
    ended_.notify_all();
    for (auto const& wait : told) wait->complete(true);
    return told;
}

IPYBOX_DECL bool job_core::wait(std::chrono::milliseconds bound) const {
    if (!owner_.is_this()) return false; // a fork: nothing would ever end it
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, clamped(bound), [this] { return outcome_.has_value(); });
}

IPYBOX_DECL bool job_core::add(std::shared_ptr<job_wait> const& wait) {
    if (!owner_.is_this()) return false;
    std::scoped_lock const lock(mutex_);
    if (outcome_) return false;
    waits_.push_back(wait);
    return true;
}

IPYBOX_DECL void job_core::remove(std::shared_ptr<job_wait> const& wait) {
    waits removed; // its handler is the application's
    std::scoped_lock const lock(mutex_);
    auto const at = std::ranges::find(waits_, wait);
    if (at == waits_.end()) return;
    removed.push_back(std::move(*at));
    waits_.erase(at);
}

IPYBOX_DECL job_output job_core::output(std::uint64_t from, std::uint64_t to, output_text_use use) const {
    if (!owner_.is_this()) return {};
    std::shared_ptr<output_text const> text;
    {
        std::scoped_lock const lock(mutex_);
        text = text_;
    }
    if (!text) return {};
    return use == output_text_use::keep ? text->between(from, to) : text->look(from, to);
}

/// Puts the text back into what was printed, which is kept once for `output` and for the result.
inline void put_text(result<execution_result>& outcome, output_text const& text) {
    if (outcome) {
        outcome->text = text.text();
        return;
    }
    auto const* const before = outcome.error().output();
    auto output = before ? *before : execution_result();
    output.text = text.text();
    outcome.error().with_output(std::make_shared<execution_result const>(std::move(output)));
}

IPYBOX_DECL result<execution_result> job_core::outcome() const {
    if (!owner_.is_this()) return ipybox::failure(forked_away());
    std::optional<result<execution_result>> copy;
    std::shared_ptr<output_text const> text;
    {
        std::scoped_lock const lock(mutex_);
        copy = outcome_;
        text = text_;
    }
    if (!copy) return ipybox::failure(errc::still_running, "the job " + id_ + " has not ended: wait for it");
    if (text) put_text(*copy, *text);
    return std::move(*copy);
}

} // namespace ipybox::detail
