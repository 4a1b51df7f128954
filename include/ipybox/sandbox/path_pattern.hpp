#pragma once

#include <ipybox/core/result.hpp>

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/// One name of a path, or what stands in its place.
struct pattern_part {
    enum class kind { name, wildcard, any_directories };

    kind what = kind::name;
    std::string text; ///< none for `any_directories`

    [[nodiscard]] bool matches(std::string_view name) const noexcept;
};

/// How far `**` of a pattern reaches.
struct pattern_reach {
    /// Names that a path may have below the directory where the search begins.
    std::size_t deepest = std::numeric_limits<std::size_t>::max();

    /// `**` stands for directories of installed packages and of repositories, too.
    bool enters_packages = true;
};

/**
 * \brief A path with wildcards, as sandbox-runtime reads it: where to search, and what for.
 * \details `*` stands for any characters of a name, `?` for one, `[a-z]` for one of a set, `**` for any number of
 * directories. A set cannot be negated, a `[` that opens none stands for itself. A final `**` is cut off: a rule about
 * a directory is about what lies in it.
 */
class path_pattern {
  public:
    /// Whether a path of a configuration has wildcards.
    [[nodiscard]] static bool has_wildcards(std::string_view path) noexcept;

    /**
     * \param base an absolute directory, whose own name has no wildcards, whatever it looks like
     * \param path relative to `base`, or absolute
     * \par Errors errc::invalid_argument — `**` is a part of a name; nothing but "/" is in front of the first wildcard;
     * `..` is behind one
     */
    [[nodiscard]] static result<path_pattern> parse(std::filesystem::path const& base, std::string_view path,
                                                    pattern_reach reach = {});

    /// The directory in front of the first wildcard.
    [[nodiscard]] std::filesystem::path const& root() const noexcept { return root_; }

    /// The part behind the root; never empty, does not end with `any_directories`.
    [[nodiscard]] std::vector<pattern_part> const& parts() const noexcept { return parts_; }

    [[nodiscard]] pattern_reach const& reach() const noexcept { return reach_; }

  private:
    path_pattern(std::filesystem::path root, std::vector<pattern_part> parts, pattern_reach reach)
        : root_(std::move(root)), parts_(std::move(parts)), reach_(reach) {}

    std::filesystem::path root_;
    std::vector<pattern_part> parts_;
    pattern_reach reach_;
};

/// A path without the `**` that stands for all that lies in a directory.
[[nodiscard]] std::string_view without_contents(std::string_view path) noexcept;

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/path_pattern.ipp>
#endif
