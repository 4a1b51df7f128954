#pragma once

#include <ipybox/os/directory_stream.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/sandbox/path_search.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// One walk over the disk for several patterns. Each directory is read with the places in the patterns that its names
/// can fit.
class path_search {
  public:
    path_search(std::vector<path_pattern> const& patterns, std::size_t most_entries)
        : patterns_(patterns), left_(most_entries), most_entries_(most_entries) {}

    result<std::vector<found_path>> run() {
        std::map<std::filesystem::path, std::vector<place>> roots;
        for (std::size_t i = 0; i < patterns_.size(); ++i) roots[patterns_[i].root()].push_back({i, 0});
        for (auto& [root, places] : roots) {
            to_read_.push_back({root.string(), 0, std::move(places), links::followed});
            while (!to_read_.empty()) {
                auto const next = std::move(to_read_.back());
                to_read_.pop_back();
                if (auto read = read_directory(next); !read) return failure(read);
            }
        }
        return std::move(found_);
    }

  private:
    /// A part of a pattern: the next one that a name has to fit.
    struct place {
        std::size_t pattern;
        std::size_t part;
    };

    enum class links { followed, left };

    struct directory {
        std::string path;
        std::size_t depth; ///< below the root
        std::vector<place> places;
        links link; ///< whether it may be one
    };

    static os::directory_stream open(directory const& at) {
        auto const flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (at.link == links::left ? O_NOFOLLOW : 0);
        return os::directory_stream(os::unique_fd(::open(at.path.c_str(), flags)));
    }

    result<void> read_directory(directory const& at) {
        auto entries = open(at);
        if (!entries) return not_read(at, errno);
        while (auto const* entry = entries.next()) {
            if (left_-- == 0) return too_many_to_search(at);
            look_at(at, entry->d_name, *entry, entries.descriptor());
            if (found_.size() > most_found) return too_many_found(at);
        }
        return {};
    }

    /// Gone in the meantime, no directory, or a link: nothing is there to be found.
    result<void> not_read(directory const& at, int why) {
        if (why == ENOENT || why == ENOTDIR || why == ELOOP) return {};
        if (why != EACCES && why != EPERM) return failure(system_failure("reading the directory " + at.path, why));
        for (auto const& p : at.places) found_.push_back({at.path, p.pattern});
        return {};
    }

    result<void> too_many_to_search(directory const& at) const {
        return too_many("search", most_entries_, at,
                        "choose a smaller working directory, or name the files without **");
    }

    result<void> too_many_found(directory const& at) const {
        return too_many("fit", most_found, at, "name the directories of the files");
    }

    result<void> too_many(std::string_view what, std::size_t most, directory const& at, std::string_view cure) const {
        std::string text("the patterns of the sandbox's configuration ");
        text.append(what).append(" more than ").append(std::to_string(most)).append(" files below ");
        text.append(patterns_[at.places.front().pattern].root().string()).append("; ").append(cure);
        return failure(errc::invalid_argument, std::move(text));
    }

    void look_at(directory const& at, std::string_view name, dirent const& entry, int descriptor) {
        std::vector<place> below;
        bool const is_file = entry.d_type == DT_REG; // most entries are, and nothing lies below
        bool is_named = false;                       // by another part than **
        std::string path;
        auto const whole = [&]() -> std::string const& {
            if (path.empty()) path.append(at.path).append(at.path.ends_with('/') ? "" : "/").append(name);
            return path;
        };
        for (auto const& here : at.places) {
            auto const& pattern = patterns_[here.pattern];
            auto part = here.part;
            if (pattern.parts()[part].what == pattern_part::kind::any_directories) {
                if (!is_file && goes_below(pattern.reach(), name, at.depth)) below.push_back(here);
                ++part;
            }
            if (!pattern.parts()[part].matches(name)) continue;
            if (part + 1 == pattern.parts().size()) {
                found_.push_back({whole(), here.pattern});
            } else if (!is_file) {
                below.push_back({here.pattern, part + 1});
                is_named = true;
            }
        }
        if (below.empty() || !may_be_directory(entry, descriptor, is_named)) return;
        to_read_.push_back({whole(), at.depth + 1, std::move(below), is_named ? links::followed : links::left});
    }

    static bool goes_below(pattern_reach const& reach, std::string_view name, std::size_t depth) {
        if (depth + 1 >= reach.deepest) return false;
        return reach.enters_packages || (name != ".git" && name != "node_modules" && name != "__pycache__");
    }

    /// The kind of a file is asked for if the file system does not return it with the name.
    static bool may_be_directory(dirent const& entry, int descriptor, bool follow) {
        if (entry.d_type == DT_LNK) return follow;
        if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
        struct ::stat status{};
        return ::fstatat(descriptor, entry.d_name, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISDIR(status.st_mode);
    }

    std::vector<path_pattern> const& patterns_;
    std::size_t left_;
    std::size_t const most_entries_;
    std::vector<directory> to_read_;
    std::vector<found_path> found_;
};

IPYBOX_DECL result<std::vector<found_path>> find_paths(std::vector<path_pattern> const& patterns,
                                                       std::size_t most_entries) {
    return path_search(patterns, most_entries).run();
}

} // namespace ipybox::detail
