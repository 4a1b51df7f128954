#pragma once

#include <sys/types.h>

#include <filesystem>
#include <set>

namespace ipybox::cli {

/// The parent of the process that a directory of /proc is about (proc_pid_stat(5), field 4, behind a name that may hold
/// anything); 0: it has ended, which may happen at any time, also between the opening and the reading of its file.
[[nodiscard]] pid_t parent_of(std::filesystem::path const& process);

/**
 * \brief Ends with the program what its tool servers left behind: daemons, which have left their groups and sessions.
 * \details From its construction on they become children of this process when their parents end. Those that were there
 * before, from a shell that became this program, are left alone.
 * \par Thread safety One in a process, made before it starts others. `end` is safe.
 */
class orphans {
  public:
    orphans();
    orphans(orphans const&) = delete;
    orphans& operator=(orphans const&) = delete;

    ~orphans() { end(); }

    /// Kills them, and all other children of this process, and waits for their end for a second at most. This process
    /// starts no others from then on.
    void end() const;

  private:
    std::set<pid_t> not_ours_;
};

} // namespace ipybox::cli
