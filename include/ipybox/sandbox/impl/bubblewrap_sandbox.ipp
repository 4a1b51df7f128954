#pragma once

#include <ipybox/sandbox/bubblewrap_preflight.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

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

/// `path` is `folder` or lies below it. Both absolute and normal.
IPYBOX_DECL bool lies_in(std::filesystem::path const& path, std::filesystem::path const& folder) {
    auto const [rest, end] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    (void)end;
    return rest == folder.end();
}

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
                                                      std::vector<std::filesystem::path> const& private_dirs) {
    std::vector<std::string> flags{"--unshare-user", "--unshare-pid",    "--unshare-ipc",   "--unshare-uts",
                                   "--unshare-net",  "--unshare-cgroup", "--disable-userns"};
    auto const add = [&flags](std::initializer_list<char const*> more) {
        flags.insert(flags.end(), more.begin(), more.end());
    };
    auto const add_tmpfs = [&](std::string const& path) {
        // A size belongs to the one tmpfs that follows it.
        if (options.tmpfs_size != 0) add({"--size", std::to_string(options.tmpfs_size).c_str()});
        add({"--tmpfs", path.c_str()});
    };

    add({"--cap-drop", "ALL", "--new-session"});
    add({"--ro-bind", "/", "/"});
    add({"--dev", "/dev"});
    add_tmpfs("/dev/shm");
    add({"--remount-ro", "/dev"}); // itself a tmpfs without a bound
    add({"--proc", "/proc"});
    // Root's files there, core_pattern among them, are writable for uid 0 without any capability; bwrap does not see that.
    if (::geteuid() == 0) add({"--ro-bind", "/proc/sys", "/proc/sys"});
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

    auto program = detail::find_bubblewrap(options_.program);
    if (!program) return failure(program);
    auto flags = detail::bubblewrap_preflight(*program, detail::bubblewrap_flags(options_, private_dirs),
                                              std::chrono::seconds(5));
    if (!flags) return failure(flags);

    // No --die-with-parent: it ends the sandbox with the *thread* that started it. The supervisor ends with its socket.
    std::vector<std::string> argv{program->string()};
    std::move(flags->begin(), flags->end(), std::back_inserter(argv));
    binds.append_to(argv);
    argv.insert(argv.end(), {"--chdir", working_dir->string(), "--"});
    std::move(spec.argv.begin(), spec.argv.end(), std::back_inserter(argv));
    spec.argv = std::move(argv);
    spec.working_dir = *std::move(working_dir);
    return spec;
}

} // namespace ipybox
