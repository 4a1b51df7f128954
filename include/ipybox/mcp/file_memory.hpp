#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/host_programs.hpp>

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp::detail {

/// The places that a server takes code and settings from.
struct code_places {
    std::vector<std::filesystem::path> files = {};        ///< each by itself
    std::vector<std::filesystem::path> modules = {};      ///< directories of scripts, which import what lies there
    std::vector<std::filesystem::path> environments = {}; ///< of installed packages: `node_modules`, a virtual one
};

/**
 * \brief The files that a server is started from and that code can change, as they were at one moment.
 * \details Of each file its device and inode, size, times and hash. Files of installed packages, links to directories,
 * and files beyond the most bytes are known by the first of these alone: code cannot set back the time of the last
 * change of an inode. Files that the server writes do not count: data beside its script, `__pycache__`; nor do the
 * packages that are generated for it.
 */
class file_memory {
  public:
    /// The most files that are remembered for one server, entries of directories that are looked at, and bytes that
    /// are hashed.
    static constexpr std::size_t most_files = 100'000;
    static constexpr std::size_t most_entries = 400'000;
    static constexpr std::uintmax_t most_hashed = std::uintmax_t{64} << 20;

    file_memory() = default;

    /// Looks at those of a server's files that code in this reach can change.
    [[nodiscard]] static file_memory of(code_places const& places, os::code_reach const& reach);

    /// Whether there are no such files.
    [[nodiscard]] bool empty() const noexcept { return files_.empty(); }

    /// Whether no file was left out because there are too many.
    [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }

    /// Takes over what another one knows.
    void add(file_memory const& later);

    /// Takes over what it does not know.
    void add_missing(file_memory const& later);

    /// The first file that is not as it was `before`: "/work/server.py has changed". Only those that code in a reach
    /// can change count. Empty: there is none.
    [[nodiscard]] std::string difference_from(file_memory const& before, os::code_reach const& reach) const;

    /// The first file that `before` knows as well, but otherwise. Empty: there is none.
    [[nodiscard]] std::string contradiction_to(file_memory const& before) const;

    /// The first file whose inode has changed behind this time. Empty: there is none.
    [[nodiscard]] std::string change_after(::timespec const& time) const;

    /// The first file that has other bytes than `before`, where both are known. Empty: there is none.
    [[nodiscard]] std::string rewritten_since(file_memory const& before) const;

    /// As text, to be kept: a line for each file.
    [[nodiscard]] std::string text() const;

    /// The inverse; none where it is not such a text.
    [[nodiscard]] static std::optional<file_memory> parse(std::string_view text);

    /// Whether they know the same of the same files.
    friend bool operator==(file_memory const& one, file_memory const& other) { return one.files_ == other.files_; }

  private:
    struct print {
        std::string state; ///< mode, device, inode, size, times: those of the inode's last change at the end
        std::string hash;  ///< of its bytes; empty: not taken

        /// The same file, or the same bytes in another one.
        [[nodiscard]] bool is_like(print const& other) const {
            return state == other.state || (!hash.empty() && hash == other.hash);
        }
        friend bool operator==(print const&, print const&) = default;
    };

    class collector;

    /// The first file that `before` knows as well, and that is another by this.
    template <class IsOther>
    [[nodiscard]] std::string first_other(file_memory const& before, IsOther is_other) const;

    [[nodiscard]] bool counts_as_new(std::string const& path) const;

    std::map<std::string, print> files_;
    std::set<std::string> decisive_; ///< those that count as new wherever they come up
    bool is_complete_ = true;
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/file_memory.ipp>
#endif
