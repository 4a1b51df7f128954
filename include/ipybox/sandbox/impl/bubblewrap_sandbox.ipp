#pragma once

#include <ipybox/sandbox/bubblewrap_preflight.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/file_rules.hpp>
#include <ipybox/sandbox/system_call_filter.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

/// The directories of the host that private ones replace. /run or /var/tmp may be a link or missing: bwrap can mount on
/// neither.
IPYBOX_DECL std::vector<std::filesystem::path> private_directories() {
    std::vector<std::filesystem::path> found;
    for (auto const* name : {"/tmp", "/run", "/var/tmp"}) {
        std::error_code ec;
        auto path = std::filesystem::canonical(name, ec);
        if (ec || !std::filesystem::is_directory(path, ec)) continue;
        if (std::find(found.begin(), found.end(), path) == found.end()) found.push_back(std::move(path));
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// What is bound back over the read-only root and the private directories.
class bubblewrap_binds {
  public:
    explicit bubblewrap_binds(std::vector<std::filesystem::path> const& private_dirs) : hidden_(private_dirs) {
        hidden_.emplace_back("/dev/shm");
    }

    /// Returns the path without links.
    result<std::filesystem::path> add_writable(std::filesystem::path const& path, std::string_view what) {
        auto real = resolve(path, what);
        if (!real) return real;
        auto reserved = hidden_;
        for (auto const* name : {"/dev", "/proc", "/sys"}) reserved.emplace_back(name);
        for (auto const& closed : reserved) {
            if (lies_in(closed, *real))
                return failure(refuse(*real, what, "would open what the sandbox closes; choose one below it"));
        }
        add(path, *real, true);
        return real;
    }

    /// Only what is hidden or could be written to needs a bind; everything else can be read anyway, and no more.
    result<void> add_readable(std::filesystem::path const& path) {
        if (std::error_code ec; path.is_absolute() && !std::filesystem::exists(path, ec)) return {};
        auto const real = resolve(path, "readable path");
        if (!real) return failure(real.error());
        if (std::find(hidden_.begin(), hidden_.end(), *real) != hidden_.end()) {
            return failure(refuse(*real, "readable path", "would open what the sandbox closes; choose those below it"));
        }
        if (is_hidden(*real) || in_writable(*real)) add(path, *real, false);
        return {};
    }

    /// What is written to by nothing, where it can be seen at all. What is missing, or is a writable directory itself, is left as it is.
    void add_read_only(std::filesystem::path const& path) {
        std::error_code missing;
        auto const real = std::filesystem::canonical(path, missing);
        if (!missing && in_writable(real) && !binds_.contains(real)) insert(real, real, false);
    }

    /// Reading it fails, by that name; after all other binds. What cannot be seen anyway is left as it is.
    void add_hidden(std::filesystem::path const& path) {
        std::error_code missing;
        auto const real = std::filesystem::canonical(path, missing);
        if (missing || !std::filesystem::is_regular_file(real, missing)) return;
        if (is_hidden(real) && !is_bound(real)) return;
        binds_.insert_or_assign(real, mount{"/dev/null", false});
    }

    /// Parents first (the order of paths), or a parent's mount would bury its children.
    void append_to(std::vector<std::string>& argv) const {
        auto mounts = binds_;
        for (auto const& [destination, bind] : binds_)
            if (!bind.writable) pin_above(destination, mounts);
        for (auto const& [destination, bind] : mounts) {
            argv.insert(argv.end(),
                        {bind.writable ? "--bind" : "--ro-bind", bind.source.string(), destination.string()});
        }
    }

  private:
    struct mount {
        std::filesystem::path source;
        bool writable;
    };

    static error refuse(std::filesystem::path const& path, std::string_view what, std::string_view why) {
        return error(errc::invalid_argument,
                     std::string("the ").append(what).append(" ").append(path.string()).append(" ").append(why));
    }

    static result<std::filesystem::path> resolve(std::filesystem::path const& path, std::string_view what) {
        if (!path.is_absolute()) return failure(refuse(path, what, "is not an absolute path"));
        std::error_code ec;
        auto real = std::filesystem::canonical(path, ec);
        if (ec) return failure(refuse(path, what, "cannot be used: " + ec.message()));
        return real;
    }

    bool is_hidden(std::filesystem::path const& path) const {
        return std::any_of(hidden_.begin(), hidden_.end(), [&](auto const& folder) { return lies_in(path, folder); });
    }

    /// It lies in what is bound back.
    bool is_bound(std::filesystem::path const& path) const {
        return std::any_of(binds_.begin(), binds_.end(), [&](auto const& bind) { return lies_in(path, bind.first); });
    }

    /// The innermost bind above `path`, or of it, is writable.
    bool in_writable(std::filesystem::path path) const {
        for (; path.has_relative_path(); path = path.parent_path())
            if (auto const found = binds_.find(path); found != binds_.end()) return found->second.writable;
        return false;
    }

    /// Mounts the folders between `path` and the writable one it lies in onto themselves: a mount cannot be renamed, and so not be replaced.
    void pin_above(std::filesystem::path const& path, std::map<std::filesystem::path, mount>& mounts) const {
        for (auto folder = path.parent_path(); in_writable(folder) && !binds_.contains(folder);
             folder = folder.parent_path())
            mounts.try_emplace(folder, mount{folder, true});
    }

    void add(std::filesystem::path const& given, std::filesystem::path const& real, bool writable) {
        insert(real, real, writable);
        // A link in a hidden directory is hidden too: the path as it was given gets a mount of its own.
        if (auto const normal = given.lexically_normal(); is_hidden(normal)) insert(normal, real, writable);
    }

    void insert(std::filesystem::path destination, std::filesystem::path const& source, bool writable) {
        if (!destination.has_filename()) destination = destination.parent_path();
        auto const [entry, added] = binds_.try_emplace(std::move(destination), mount{source, writable});
        if (!added && writable) entry->second = mount{source, writable};
    }

    std::vector<std::filesystem::path> hidden_;
    std::map<std::filesystem::path, mount> binds_;
};

/// Everything but the binds: what can be had on this machine does not depend on the paths.
IPYBOX_DECL std::vector<std::string> bubblewrap_flags(bubblewrap_options const& options,
                                                      std::vector<system_access> const& allow,
                                                      std::vector<std::filesystem::path> const& private_dirs) {
    std::vector<std::string> flags{"--unshare-user", "--unshare-pid", "--unshare-ipc",
                                   "--unshare-uts",  "--unshare-net", "--unshare-cgroup"};
    auto const add = [&flags](std::initializer_list<char const*> more) {
        flags.insert(flags.end(), more.begin(), more.end());
    };
    auto const add_tmpfs = [&](std::string const& path) {
        // A size belongs to the one tmpfs that follows it.
        if (options.tmpfs_size != 0) add({"--size", std::to_string(options.tmpfs_size).c_str()});
        add({"--tmpfs", path.c_str()});
    };

    if (std::ranges::find(allow, system_access::user_namespaces) == allow.end()) add({"--disable-userns"});
    add({"--cap-drop", "ALL", "--new-session"});
    // The program is the first process: with it all others end, and no signal from inside reaches it.
    add({"--as-pid-1"});
    add({"--ro-bind", "/", "/"});
    add({"--dev", "/dev"});
    add_tmpfs("/dev/shm");
    add({"--remount-ro", "/dev"}); // itself a tmpfs without a bound
    add({"--proc", "/proc"});
    // Root's files there, core_pattern among them, are writable for uid 0 without any capability; bwrap does not see that.
    if (::geteuid() == 0) {
        add({"--ro-bind", "/proc/sys", "/proc/sys"});
        // So is what makes the first process the first one to be killed where memory runs out.
        for (auto const* file : {"/proc/1/oom_score_adj", "/proc/1/oom_adj"}) add({"--ro-bind", "/dev/null", file});
    }
    add({"--tmpfs", "/sys", "--remount-ro", "/sys"});
    for (auto const& path : private_dirs) add_tmpfs(path.string());
    return flags;
}

} // namespace detail

IPYBOX_DECL result<launch_spec> bubblewrap_sandbox::wrap(launch_spec spec) const {
    if (spec.argv.empty()) return failure(errc::invalid_argument, "there is no program to start");

    auto const private_dirs = detail::private_directories();
    detail::bubblewrap_binds binds(private_dirs);
    auto working_dir = binds.add_writable(spec.working_dir, "working directory");
    if (!working_dir) return failure(working_dir);
    for (auto const& path : spec.writable) {
        if (auto added = binds.add_writable(path, "writable path"); !added) return failure(added);
    }
    for (auto const& path : spec.readable) {
        if (auto added = binds.add_readable(path); !added) return failure(added);
    }

    for (auto const& path : spec.read_only) binds.add_read_only(path);
    for (auto const& path : spec.hidden) binds.add_hidden(path);

    auto program = detail::find_bubblewrap(options_.program);
    if (!program) return failure(program);
    auto filter = detail::system_call_filter(spec.allow);
    if (!filter) return failure(filter);
    auto flags = detail::bubblewrap_preflight(*program, detail::bubblewrap_flags(options_, spec.allow, private_dirs),
                                              *filter, std::chrono::seconds(5));
    if (!flags) return failure(flags);

    // No --die-with-parent: it ends the sandbox with the *thread* that started it. The supervisor ends with its socket.
    std::vector<std::string> argv{program->string()};
    std::move(flags->begin(), flags->end(), std::back_inserter(argv));
    binds.append_to(argv);
    auto const filter_fd = (spec.inputs.empty() ? spec.control_fd : spec.inputs.rbegin()->first) + 1;
    spec.inputs.emplace(filter_fd, *std::move(filter));
    argv.insert(argv.end(), {"--seccomp", std::to_string(filter_fd), "--chdir", working_dir->string(), "--"});
    std::move(spec.argv.begin(), spec.argv.end(), std::back_inserter(argv));
    spec.argv = std::move(argv);
    spec.working_dir = *std::move(working_dir);
    spec.first_in_namespace = true;
    return spec;
}

namespace detail {

/// The paths that code in a sandbox for a launch can change.
class changeable_paths {
  public:
    explicit changeable_paths(launch_spec const& spec) : writable_{real(spec.working_dir)} {
        for (auto const& path : spec.writable) writable_.push_back(real(path));
        for (auto const* closed : {&spec.read_only, &spec.readable})
            for (auto const& path : *closed)
                if (auto found = real(path); !is_above_writable(found)) closed_.push_back(std::move(found));
    }

    bool contains(std::filesystem::path const& path) const {
        std::error_code ignored;
        return std::filesystem::exists(path, ignored) && (is_open(real(path)) || goes_through_open_link(path));
    }

  private:
    using paths = std::vector<std::filesystem::path>;

    static std::filesystem::path real(std::filesystem::path const& path) {
        std::error_code ignored;
        return std::filesystem::weakly_canonical(path, ignored);
    }

    /// Or is one. Such a directory does not count as closed.
    bool is_above_writable(std::filesystem::path const& path) const {
        return std::ranges::any_of(writable_, [&](auto const& writable) { return lies_in(writable, path); });
    }

    bool is_open(std::filesystem::path const& folder) const {
        return lies_in_one(folder, writable_) && !lies_in_one(folder, closed_);
    }

    bool goes_through_open_link(std::filesystem::path const& path) const {
        std::filesystem::path so_far;
        for (auto const& part : path.lexically_normal()) {
            auto const folder = real(so_far);
            so_far /= part;
            if (std::error_code ignored; std::filesystem::is_symlink(so_far, ignored) && is_open(folder)) return true;
        }
        return false;
    }

    paths writable_;
    paths closed_;
};

} // namespace detail

IPYBOX_DECL std::vector<std::filesystem::path>
bubblewrap_sandbox::unprotected(launch_spec const& spec, std::vector<std::filesystem::path> const& paths) {
    detail::changeable_paths const changeable(spec);
    std::vector<std::filesystem::path> found;
    for (auto const& path : paths)
        if (changeable.contains(path) && std::ranges::find(found, path) == found.end()) found.push_back(path);
    return found;
}

} // namespace ipybox
