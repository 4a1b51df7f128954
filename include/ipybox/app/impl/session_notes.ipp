#pragma once

#include <ipybox/app/cell_answer.hpp>
#include <ipybox/app/kept_cells.hpp>
#include <ipybox/app/session_notes.hpp>

namespace ipybox {
namespace detail {

/// Cells that the client has cancelled.
inline std::string cancelled_text(std::deque<std::string> const& ids, std::string_view session) {
    if (ids.size() == 1)
        return "cell \"" + ids.front() + "\" was cancelled by the client; cell_output(" +
               arguments_for(ids.front(), session) + ") has what it printed";
    std::string names;
    for (auto const& id : ids) names.append(names.empty() ? "\"" : ", \"").append(id).append("\"");
    return "cells " + names + " were cancelled by the client; cell_output has what each printed";
}

} // namespace detail

IPYBOX_DECL void session_notes::add_cancelled(std::string cell_id) {
    cancelled_.push_back(std::move(cell_id));
    if (cancelled_.size() > kept_cells::most_ended) cancelled_.pop_front();
}

IPYBOX_DECL std::vector<std::string> session_notes::take(std::string_view session) {
    auto notes = std::exchange(notes_, {});
    if (auto const ids = std::exchange(cancelled_, {}); !ids.empty())
        notes.push_back(detail::cancelled_text(ids, session));
    return notes;
}

} // namespace ipybox
