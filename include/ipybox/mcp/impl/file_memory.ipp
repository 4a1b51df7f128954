#pragma once

#include <ipybox/core/sha256.hpp>
#include <ipybox/mcp/file_memory.hpp>
#include <ipybox/mcp/launch_habits.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/read_file.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace ipybox::mcp::detail {

/// Endings of modules. Settings and archives do not count: what a server writes beside itself looks the same.
inline bool is_module_by_name(std::filesystem::path const& file) {
    static constexpr std::array<std::string_view, 23> endings{
        ".py",  ".pyc", ".pyd", ".pyw",  ".so", ".pth", ".js", ".mjs",  ".cjs", ".jsx", ".ts",  ".mts",
        ".cts", ".tsx", ".rb",  ".node", ".pl", ".pm",  ".sh", ".bash", ".lua", ".php", ".wasm"};
    return std::ranges::find(endings, file.extension().string()) != endings.end() || file.filename() == "package.json";
}

/// A module, or a file that can be executed.
inline bool is_code(std::filesystem::path const& file) {
    return is_module_by_name(file) || ::access(file.c_str(), X_OK) == 0;
}

/// Directories beside a script that no code of it comes from: caches, repositories, packages generated for it.
inline bool is_passed_over(std::filesystem::path const& directory) {
    static constexpr std::array<std::string_view, 7> names{"__pycache__",        ".git",   ".hg",          "mcptools",
                                                           ".ipynb_checkpoints", ".cache", ".pytest_cache"};
    return std::ranges::find(names, directory.filename().string()) != names.end();
}

inline bool is_environment(std::filesystem::path const& directory) {
    return directory.filename() == "node_modules" || ::access((directory / "pyvenv.cfg").c_str(), F_OK) == 0;
}

/// By these a directory becomes a package, which comes before a module of its name.
inline bool makes_package(std::filesystem::path const& file) {
    auto const stem = file.stem().string();
    return stem == "__init__" || stem == "__main__" || stem == "index" || file.filename() == "package.json";
}

/// Looks at files once each, within the bounds.
class file_memory::collector {
  public:
    collector(file_memory& memory, os::code_reach const& reach) : memory_(memory), reach_(reach) {}

    /// A file that the server's parameters name.
    void add_named(std::filesystem::path const& file) {
        if (!reach_.can_change(file)) return;
        add_file(file, true);
        if (is_code(file)) memory_.decisive_.insert(file.native());
    }

    /// The code in a directory and below it. What lies in the directory itself is imported by its name.
    void add_modules(std::filesystem::path const& directory) {
        walk(directory, content::modules, 0);
        auto const within = directory.native() + '/';
        for (auto file = memory_.files_.lower_bound(within);
             file != memory_.files_.end() && file->first.starts_with(within); ++file)
            if (file->first.find('/', within.size()) == std::string::npos) memory_.decisive_.insert(file->first);
    }

    void add_environment(std::filesystem::path const& directory) { walk(directory, content::packages, 0); }

  private:
    enum class content { modules, packages };

    [[nodiscard]] bool is_full() {
        if (memory_.files_.size() >= most_files || looked_at_ >= most_entries) memory_.is_complete_ = false;
        return !memory_.is_complete_;
    }

    void add_file(std::filesystem::path const& file, bool hashed) {
        struct ::stat about{};
        if (is_full() || memory_.files_.contains(file.native())) return;
        if (::stat(file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return;
        print seen{state_of(about), {}};
        auto const size = static_cast<std::uintmax_t>(about.st_size);
        if (hashed && hashed_ + size <= most_hashed) {
            hashed_ += size;
            auto const bytes = os::read_regular_file(file, file.string(), static_cast<std::size_t>(size) + 1);
            if (bytes) seen.hash = sha256_hex(*bytes);
        }
        memory_.files_.emplace(file.native(), std::move(seen));
    }

    /// A link itself: another one leads to other code.
    void add_link(std::filesystem::path const& link) {
        struct ::stat about{};
        if (!is_full() && ::lstat(link.c_str(), &about) == 0)
            memory_.files_.emplace(link.native(), print{state_of(about), {}});
    }

    static std::string state_of(struct ::stat const& about) {
        std::string state;
        for (auto const number :
             {std::uintmax_t{about.st_mode}, std::uintmax_t{about.st_dev}, std::uintmax_t{about.st_ino},
              static_cast<std::uintmax_t>(about.st_size), static_cast<std::uintmax_t>(about.st_mtim.tv_sec),
              static_cast<std::uintmax_t>(about.st_mtim.tv_nsec), static_cast<std::uintmax_t>(about.st_ctim.tv_sec),
              static_cast<std::uintmax_t>(about.st_ctim.tv_nsec)})
            state.append(state.empty() ? "" : ",").append(std::to_string(number));
        return state;
    }

    /// Each directory once, however many links lead to it.
    void walk(std::filesystem::path const& directory, content what, int depth) {
        static constexpr int deepest = 100;
        struct ::stat about{};
        if (::stat(directory.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) return;
        if (!reach_.can_change(directory) || !walked_.emplace(about.st_dev, about.st_ino).second) return;
        if (depth == deepest) memory_.is_complete_ = false;
        for (auto const& entry : entries_of(directory)) {
            if (is_full()) return;
            std::error_code gone;
            auto const& path = entry.path();
            if (entry.is_directory(gone)) {
                if (is_passed_over(path)) continue;
                if (entry.is_symlink(gone)) add_link(path);
                walk(path, what == content::packages || is_environment(path) ? content::packages : what, depth + 1);
            } else if (what == content::packages) {
                add_file(path, false);
            } else if (is_code(path)) {
                add_file(path, true);
            }
        }
    }

    /// In an order.
    std::vector<std::filesystem::directory_entry> entries_of(std::filesystem::path const& directory) {
        std::error_code failed;
        std::filesystem::directory_iterator entries(directory,
                                                    std::filesystem::directory_options::skip_permission_denied, failed);
        std::vector<std::filesystem::directory_entry> sorted;
        for (; !failed && entries != std::filesystem::directory_iterator(); entries.increment(failed)) {
            if (++looked_at_; is_full()) break;
            sorted.push_back(*entries);
        }
        std::ranges::sort(sorted);
        return sorted;
    }

    file_memory& memory_;
    os::code_reach const& reach_;
    std::uintmax_t hashed_ = 0;
    std::size_t looked_at_ = 0;
    std::set<std::pair<::dev_t, ::ino_t>> walked_;
};

IPYBOX_DECL file_memory file_memory::of(code_places const& places, os::code_reach const& reach) {
    file_memory memory;
    if (reach.empty()) return memory;
    collector all(memory, reach);
    for (auto const& file : places.files) all.add_named(file);
    for (auto const& directory : places.modules) all.add_modules(directory);
    for (auto const& directory : places.environments) all.add_environment(directory);
    return memory;
}

IPYBOX_DECL void file_memory::add(file_memory const& later) {
    for (auto const& [path, seen] : later.files_) files_.insert_or_assign(path, seen);
    is_complete_ = is_complete_ && later.is_complete_;
}

IPYBOX_DECL void file_memory::add_missing(file_memory const& later) {
    files_.insert(later.files_.begin(), later.files_.end());
    is_complete_ = is_complete_ && later.is_complete_;
}

/// Not a file in a directory of other things that came later: nothing imports that, unless it makes it a package.
IPYBOX_DECL bool file_memory::counts_as_new(std::string const& path) const {
    std::filesystem::path const file = path;
    if (makes_package(file) || is_setting_of_launcher(file) || path.find("/node_modules/") != std::string::npos)
        return true;
    // What is beside packages is imported as what is beside modules.
    auto const beside = file.parent_path().native() + '/';
    return std::ranges::any_of(files_, [&](auto const& known) { return known.first.starts_with(beside); });
}

IPYBOX_DECL std::string file_memory::difference_from(file_memory const& before, os::code_reach const& reach) const {
    for (auto const& [path, seen] : before.files_) {
        auto const now = files_.find(path);
        bool const is_same = now != files_.end() && now->second.is_like(seen);
        if (!is_same && reach.can_change(path)) return path + (now == files_.end() ? " is gone" : " has changed");
    }
    for (auto const& [path, seen] : files_)
        if (!before.files_.contains(path) && (decisive_.contains(path) || before.counts_as_new(path)) &&
            reach.can_change(path))
            return path + " is new";
    return {};
}

template <class IsOther>
std::string file_memory::first_other(file_memory const& before, IsOther is_other) const {
    for (auto const& [path, seen] : files_)
        if (auto const known = before.files_.find(path); known != before.files_.end() && is_other(seen, known->second))
            return path + " has changed";
    return {};
}

IPYBOX_DECL std::string file_memory::contradiction_to(file_memory const& before) const {
    return first_other(before, [](print const& seen, print const& known) { return !seen.is_like(known); });
}

IPYBOX_DECL std::string file_memory::rewritten_since(file_memory const& before) const {
    return first_other(before, [](print const& seen, print const& known) {
        return !seen.hash.empty() && !known.hash.empty() && seen.hash != known.hash;
    });
}

IPYBOX_DECL std::string file_memory::change_after(::timespec const& time) const {
    for (auto const& [path, seen] : files_) {
        auto const nanoseconds = seen.state.rfind(',');
        auto const seconds = seen.state.rfind(',', nanoseconds - 1);
        auto const number = [&](std::size_t comma) { return std::strtoll(&seen.state[comma + 1], nullptr, 10); };
        if (std::pair(number(seconds), number(nanoseconds)) >
            std::pair<long long, long long>(time.tv_sec, time.tv_nsec))
            return path + " has changed";
    }
    return {};
}

IPYBOX_DECL std::string file_memory::text() const {
    std::string text;
    for (auto const& [path, seen] : files_)
        if (path.find('\n') == std::string::npos)
            text.append(seen.state).append(" ").append(seen.hash.empty() ? "-" : seen.hash).append(" ").append(path) +=
                '\n';
    return text;
}

IPYBOX_DECL std::optional<file_memory> file_memory::parse(std::string_view text) {
    file_memory memory;
    while (!text.empty()) {
        auto const line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        auto const state = line.substr(0, line.find(' '));
        auto const rest = line.substr(std::min(line.size(), state.size() + 1));
        auto const hash = rest.substr(0, rest.find(' '));
        auto const path = rest.substr(std::min(rest.size(), hash.size() + 1));
        if (state.empty() || hash.empty() || !path.starts_with('/')) return std::nullopt;
        memory.files_[std::string(path)] = {std::string(state), hash == "-" ? std::string() : std::string(hash)};
    }
    return memory;
}

} // namespace ipybox::mcp::detail
