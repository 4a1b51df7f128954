#pragma once

#include <ipybox/rules/grant.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/**
 * \brief The grants of a session, and how often each was used.
 * \details Knows no clock: the caller says what time it is.
 * \par Thread safety Safe, shared objects too.
 */
class grants {
  public:
    using clock = std::chrono::steady_clock;

    /// Adds a grant; one for a cell belongs to the cell that is named, and without a name never covers anything.
    /// Returns its number, counted from 1.
    std::uint64_t add(grant given, clock::time_point now, std::string_view cell_id = {});

    /// Uses a grant that covers the action, and returns its number: one without a count if there is any, else the
    /// oldest.
    [[nodiscard]] std::optional<std::uint64_t> use(approval_subject const& subject, clock::time_point now);

    /// Uses the grant of that number, where it covers the action: for who gave it in answer to a request.
    void use(std::uint64_t number, approval_subject const& subject, clock::time_point now);

    /// Takes one back; false when there is none of that number (any more).
    bool revoke(std::uint64_t number);

    /// Takes all back.
    void clear();

    /// Takes back those about tools of one server.
    void forget_server(std::string_view name);

    /// Forgets what was for one cell.
    void end_cell(std::string_view cell_id);

    /// How many there are, apart from those that are used up or too old.
    [[nodiscard]] std::size_t size(clock::time_point now) const;

    /// Those that are neither used up nor too old, in the order they were given.
    [[nodiscard]] std::vector<grant::active> list(clock::time_point now) const;

  private:
    struct entry {
        std::uint64_t number;
        grant what;
        std::optional<std::uint64_t> left; ///< uses
        clock::time_point until;
        std::string cell_id;

        [[nodiscard]] bool alive(clock::time_point now) const { return left != 0u && now < until; }
        [[nodiscard]] bool covers(approval_subject const& subject) const;
    };

    std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
    std::vector<entry> given_;
    std::uint64_t last_ = 0;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/grants.ipp>
#endif
