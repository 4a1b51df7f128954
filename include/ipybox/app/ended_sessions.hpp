#pragma once

#include <ipybox/core/config.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox {

/**
 * \brief Why sessions were ended that a model may still believe in, until it has been told.
 * \par Thread safety Unsafe.
 */
class ended_sessions {
  public:
    static constexpr std::size_t most = 100; ///< the oldest makes room

    /// The session was ended because nothing was asked of it for so long.
    void add_idle(std::string name, std::chrono::milliseconds idle);

    /// The sandbox of all sessions has ended.
    void add_lost(std::string name);

    /// The sentence about a session, for the model; none where there is none.
    [[nodiscard]] std::optional<std::string> find(std::string_view name) const;

    /// The same, which is forgotten then.
    [[nodiscard]] std::optional<std::string> take(std::string_view name);

    [[nodiscard]] std::size_t size() const noexcept { return told_.size(); }

  private:
    void add(std::string name, std::string const& why);

    std::deque<std::pair<std::string, std::string>> told_; ///< names and sentences, oldest first
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/ended_sessions.ipp>
#endif
