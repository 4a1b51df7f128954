#pragma once

#include <ipybox/app/call_questions.hpp>
#include <ipybox/app/kept_cells.hpp>
#include <ipybox/approval/safe_text.hpp>

#include <algorithm>
#include <iterator>

namespace ipybox {

IPYBOX_DECL void kept_cell::ask(approval_request request) {
    auto const asker = std::ranges::find_if(attending_, [](auto const* call) { return call->questions_ != nullptr; });
    if (asker != attending_.end()) return (*asker)->questions_->put(std::move(request));
    unasked_.push_back(std::move(request));
    std::erase_if(unasked_, [](approval_request const& r) { return r.decided().has_value(); });
}

IPYBOX_DECL void kept_cell::end() {
    unasked_.clear();
    for (auto const* call : attending_) call->wake_();
}

IPYBOX_DECL cell_view kept_cell::view(std::uint64_t from) const {
    cell_view seen;
    seen.id = id();
    seen.state = job_.state(); // before the output: what an ended cell has printed is complete
    seen.output = job_.output(from);
    if (seen.state == detail::job_state::ended) seen.outcome = job_.result();
    seen.age = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began_);
    for (auto const& request : unasked_)
        if (!request.decided()) seen.waits_for.push_back(safe_text::title(*request.subject()));
    return seen;
}

IPYBOX_DECL kept_cell::attendance::attendance(std::shared_ptr<kept_cell> cell,
                                              std::shared_ptr<call_questions> questions, std::function<void()> wake)
    : cell_(std::move(cell)), questions_(std::move(questions)), wake_(std::move(wake)) {
    at_ = cell_->attending_.insert(cell_->attending_.end(), this);
    if (questions_)
        for (auto& request : std::exchange(cell_->unasked_, {})) questions_->put(std::move(request));
}

IPYBOX_DECL kept_cell::attendance::~attendance() {
    cell_->attending_.erase(at_);
    if (!questions_) return;
    // Another call that attends takes over.
    for (auto& request : questions_->withdraw()) cell_->ask(std::move(request));
}

IPYBOX_DECL result<void> kept_cells::check_room() const {
    auto const open = std::ranges::count_if(cells_, [](auto const& cell) { return !cell->has_ended(); });
    if (static_cast<std::size_t>(open) < most_open) return {};
    return failure(errc::invalid_argument,
                   std::to_string(most_open) +
                       " cells run or wait already; wait for one with wait_for_cell, or end one "
                       "with interrupt_cell");
}

IPYBOX_DECL void kept_cells::add(std::shared_ptr<kept_cell> cell) {
    cells_.push_back(std::move(cell));
    make_room();
}

IPYBOX_DECL result<std::shared_ptr<kept_cell>> kept_cells::find(std::string_view id) const {
    if (id.empty() && !cells_.empty()) return cells_.back();
    auto const found = std::ranges::find_if(cells_, [id](auto const& cell) { return cell->id() == id; });
    if (found != cells_.end()) return *found;
    if (cells_.empty()) return failure(errc::invalid_argument, "no cell was executed yet");
    std::string known;
    for (auto const& cell : cells_) known.append(known.empty() ? "" : ", ").append(cell->id());
    return failure(errc::invalid_argument, "no cell of this id is kept; there are " + known + ": the latest " +
                                               std::to_string(most_ended) +
                                               " that have ended, and those that run or wait");
}

IPYBOX_DECL std::shared_ptr<kept_cell> kept_cells::running() const {
    for (auto const wanted : {detail::job_state::running, detail::job_state::waiting})
        for (auto const& cell : cells_)
            if (cell->handle().state() == wanted) return cell;
    return nullptr;
}

IPYBOX_DECL void kept_cells::make_room() {
    auto ended = std::ranges::count_if(cells_, [](auto const& cell) { return cell->has_ended(); });
    for (auto at = cells_.begin(); at != cells_.end() && static_cast<std::size_t>(ended) > most_ended;) {
        if (!(*at)->has_ended()) {
            ++at;
            continue;
        }
        at = cells_.erase(at);
        --ended;
    }
}

} // namespace ipybox
