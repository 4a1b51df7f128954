#pragma once

#include <ipybox/core/config.hpp>

#include <filesystem>
#include <vector>

namespace ipybox::os {

/**
 * \brief The files that code in sandboxes can change or make, by their paths: what lies there must not be run outside.
 * \details Each sandbox has directories that are writable, and closed paths within them. Code can change a path if it
 * lies in one of the first and in none of the second, or is reached through a link that code could replace. Files and
 * directories that belong to others, and are not writable, do not count.
 */
class code_reach {
  public:
    /// Of no code: nothing.
    code_reach() = default;

    /// Of one sandbox. Relative and empty paths are passed over; a closed path that a writable one lies in is none.
    explicit code_reach(std::vector<std::filesystem::path> const& writable,
                        std::vector<std::filesystem::path> const& closed = {});

    /// Adds that of other sandboxes. \return whether it is more than before
    bool add(code_reach const& others);

    /// These paths are closed in all of its sandboxes.
    void close(std::vector<std::filesystem::path> const& paths);

    [[nodiscard]] bool empty() const noexcept { return areas_.empty(); }

    /// Whether code can change the file or directory that an absolute path leads to, or could make it.
    [[nodiscard]] bool can_change(std::filesystem::path const& path) const { return any_holds(path, false); }

    /// The same as if nothing was closed: another sandbox may have had less closed there, before.
    [[nodiscard]] bool reaches(std::filesystem::path const& path) const { return any_holds(path, true); }

  private:
    /// All without links.
    struct area {
        std::vector<std::filesystem::path> writable;
        std::vector<std::filesystem::path> closed;

        friend bool operator==(area const&, area const&) = default;
        [[nodiscard]] bool holds(std::filesystem::path const& place, bool with_closed) const;
        void close(std::vector<std::filesystem::path> const& paths);
    };

    [[nodiscard]] bool any_holds(std::filesystem::path const& path, bool with_closed) const;

    std::vector<area> areas_;
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/code_reach.ipp>
#endif
