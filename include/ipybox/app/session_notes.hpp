#pragma once

#include <ipybox/core/config.hpp>

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox {

/// Facts that the next answer of a session has to tell its client. No I/O.
class session_notes {
  public:
    void add(std::string note) { notes_.push_back(std::move(note)); }

    /// A cell was cancelled by the client. The latest `kept_cells::most_ended` are told: older ones are not kept
    /// either.
    void add_cancelled(std::string cell_id);

    /// All of them, the cancelled cells last; afterwards there are none. \param session name of one of several
    [[nodiscard]] std::vector<std::string> take(std::string_view session);

  private:
    std::vector<std::string> notes_;
    std::deque<std::string> cancelled_; ///< ids of cells
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/session_notes.ipp>
#endif
