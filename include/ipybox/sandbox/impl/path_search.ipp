#pragma once

#include <ipybox/os/directory_stream.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/sandbox/path_search.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// One walk over the disk for several patterns. Each directory is read with the places in the patterns that its names
/// can fit.
class path_search {
  public:
    path_search(std::vector<path_pattern> const& patterns, std::size_t most_entries)
        : patterns_(patterns), left_(most_entries) {}

    result<search_result> run() {
        std::map<std::filesystem::path, std::vector<place>> roots;
        for (std::size_t i = 0; i < patterns_.size(); ++i) roots[patterns_[i].root()].push_back({i, 0});
        for (auto& [root, places] : roots) {
            to_read_.push_back({root.string(), 0, std::move(places), links::followed});
            while (!to_read_.empty()) {
                auto const next = std::move(to_read_.front());
                to_read_.pop_front();
                if (auto read = read_directory(next); !read) return failure(read);
            }
        }
        return std::move(result_);
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
        if (left_ == 0 && unread_ == most_unread_directories) return {};
        auto entries = open(at);
        if (!entries) return not_read(at, errno);
        for (std::size_t read = 0; left_ > 0 && read < most_names_in_directory; ++read) {
            auto const* entry = entries.next();
            if (entry == nullptr) return {};
            --left_;
            look_at(at, entry->d_name, entry->d_type, entries.descriptor());
        }
        if (entries.next() != nullptr) look_for_names(at, entries.descriptor());
        return {};
    }

    /// Looks for names that patterns have without wildcards, in a directory whose names are not all read.
    void look_for_names(directory const& at, int descriptor) {
        ++unread_;
        result_.not_read.emplace_back(at.path);
        std::set<std::string_view> names;
        for (auto const& here : at.places) {
            auto const& parts = patterns_[here.pattern].parts();
            auto const& part = parts[here.part + (parts[here.part].what == pattern_part::kind::any_directories)];
            if (part.what == pattern_part::kind::name) names.insert(part.text);
        }
        for (auto const name : names) {
            struct ::stat ignored{};
            if (::fstatat(descriptor, std::string(name).c_str(), &ignored, AT_SYMLINK_NOFOLLOW) == 0)
                look_at(at, name, DT_UNKNOWN, descriptor);
        }
    }

    /// Gone in the meantime, no directory, a link, or deeper than any path reaches: nothing is there to be found.
    result<void> not_read(directory const& at, int why) {
        if (why == ENOENT || why == ENOTDIR || why == ELOOP || why == ENAMETOOLONG) return {};
        if (why != EACCES && why != EPERM) return failure(system_failure("reading the directory " + at.path, why));
        for (auto const& p : at.places) result_.found.push_back({at.path, p.pattern});
        return {};
    }

    void look_at(directory const& at, std::string_view name, unsigned char type, int descriptor) {
        std::vector<place> below;
        bool const is_file = type == DT_REG; // most entries are, and nothing lies below
        bool is_named = false;               // by another part than **
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
                result_.found.push_back({whole(), here.pattern});
            } else if (!is_file) {
                below.push_back({here.pattern, part + 1});
                is_named = true;
            }
        }
        if (below.empty() || !may_be_directory(name, type, descriptor, is_named)) return;
        to_read_.push_back({whole(), at.depth + 1, std::move(below), is_named ? links::followed : links::left});
    }

    static bool goes_below(pattern_reach const& reach, std::string_view name, std::size_t depth) {
        if (depth + 1 >= reach.deepest) return false;
        return reach.enters_packages || (name != ".git" && name != "node_modules" && name != "__pycache__");
    }

    /// The kind of a file is asked for if the file system does not return it with the name.
    static bool may_be_directory(std::string_view name, unsigned char type, int descriptor, bool follow) {
        if (type == DT_LNK) return follow;
        if (type != DT_UNKNOWN) return type == DT_DIR;
        struct ::stat status{};
        return ::fstatat(descriptor, std::string(name).c_str(), &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISDIR(status.st_mode);
    }

    std::vector<path_pattern> const& patterns_;
    std::size_t left_;       ///< names that may still be read
    std::size_t unread_ = 0; ///< directories that were not read to their end
    std::deque<directory> to_read_;
    search_result result_;
};

IPYBOX_DECL result<search_result> find_paths(std::vector<path_pattern> const& patterns, std::size_t most_entries) {
    return path_search(patterns, most_entries).run();
}

IPYBOX_DECL std::string notice_of_unread(std::vector<std::filesystem::path> const& directories) {
    auto text = directories.front().string();
    if (directories.size() > 1) text += " and " + std::to_string(directories.size() - 1) + " more directories";
    text += directories.size() > 1 ? " have" : " has";
    return text + " too many files to look at each: patterns with wildcards may fit further ones, which stay open";
}

} // namespace ipybox::detail
