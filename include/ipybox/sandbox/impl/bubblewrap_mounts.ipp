#pragma once

#include <ipybox/os/lies_in.hpp>
#include <ipybox/sandbox/bubblewrap_mounts.hpp>
#include <ipybox/sandbox/file_rules.hpp>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

namespace ipybox::detail {

inline error unusable_path(std::filesystem::path const& path, std::string_view what, std::string_view why) {
    return error(errc::invalid_argument,
                 std::string("the ").append(what).append(" ").append(path.string()).append(" ").append(why));
}

inline result<std::filesystem::path> existing_path(std::filesystem::path const& path, std::string_view what) {
    if (!path.is_absolute()) return failure(unusable_path(path, what, "is not an absolute path"));
    std::error_code ec;
    auto real = std::filesystem::canonical(path, ec);
    if (ec) return failure(unusable_path(path, what, "cannot be used: " + ec.message()));
    return real;
}

/// /run or /var/tmp may be a link or missing: bwrap can mount on neither.
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

IPYBOX_DECL bubblewrap_mounts::bubblewrap_mounts(std::vector<std::filesystem::path> const& private_dirs)
    : hidden_(private_dirs) {
    hidden_.emplace_back("/dev/shm");
}

IPYBOX_DECL result<std::filesystem::path> bubblewrap_mounts::openable(std::filesystem::path const& path,
                                                                      std::string_view what) const {
    auto real = existing_path(path, what);
    if (!real) return real;
    auto reserved = hidden_;
    for (auto const* name : {"/dev", "/proc", "/sys"}) reserved.emplace_back(name);
    for (auto const& closed : reserved) {
        if (os::lies_in(closed, *real))
            return failure(unusable_path(*real, what, "would open what the sandbox closes; choose one below it"));
    }
    return real;
}

IPYBOX_DECL result<std::filesystem::path>
bubblewrap_mounts::working_directory(std::filesystem::path const& path) const {
    auto real = openable(path, "working directory");
    if (std::error_code ec; real && !std::filesystem::is_directory(*real, ec))
        return failure(unusable_path(*real, "working directory", "is not a directory"));
    return real;
}

IPYBOX_DECL void bubblewrap_mounts::close(std::filesystem::path const& real) {
    std::error_code ignored;
    auto const as = std::filesystem::is_directory(real, ignored) ? kind::closed : kind::masked;
    mounts_.emplace(real, mount{"/dev/null", as});
}

IPYBOX_DECL result<std::filesystem::path> bubblewrap_mounts::open_writable(std::filesystem::path const& path,
                                                                           std::string_view what) {
    auto real = openable(path, what);
    if (real) add(path, *real, kind::writable);
    return real;
}

IPYBOX_DECL void bubblewrap_mounts::open_readable(std::filesystem::path const& real) {
    mounts_.emplace(real, mount{real, kind::as_around});
}

/// Only what is hidden or could be written to needs a bind; everything else can be read anyway, and no more.
IPYBOX_DECL result<void> bubblewrap_mounts::add_readable(std::filesystem::path const& path) {
    if (std::error_code ec; path.is_absolute() && !std::filesystem::exists(path, ec)) return {};
    auto const real = existing_path(path, "readable path");
    if (!real) return failure(real.error());
    if (std::find(hidden_.begin(), hidden_.end(), *real) != hidden_.end()) {
        return failure(
            unusable_path(*real, "readable path", "would open what the sandbox closes; choose those below it"));
    }
    if (is_hidden(*real) || in_writable(*real)) add(path, *real, kind::read_only);
    return {};
}

IPYBOX_DECL void bubblewrap_mounts::add_read_only(std::filesystem::path const& path) {
    std::error_code missing;
    auto const real = std::filesystem::canonical(path, missing);
    if (!missing && in_writable(real) && !is_mount(real)) insert(real, real, kind::read_only);
}

IPYBOX_DECL void bubblewrap_mounts::add_hidden(std::filesystem::path const& path) {
    std::error_code missing;
    auto const plain = path.lexically_normal();
    auto const real = std::filesystem::canonical(plain.has_filename() ? plain : plain.parent_path(), missing);
    if (missing || is_hidden(real)) return;
    if (!std::filesystem::is_directory(real, missing))
        mounts_.insert_or_assign(real, mount{"/dev/null", kind::masked});
    else if (!is_mount(real)) // one that the program works in stays open
        mounts_.insert_or_assign(real, mount{"/dev/null", kind::closed});
}

/// Else files that are closed could be read and written by the name of a link that was given.
IPYBOX_DECL void bubblewrap_mounts::mirror_second_names() {
    mounts mirrored;
    for (auto const& [name, root] : mounts_) {
        bool const is_second = name != root.source && (root.as == kind::writable || root.as == kind::read_only);
        for (auto const& [destination, over] : mounts_)
            if (is_second && destination != root.source && os::lies_in(destination, root.source))
                mirrored.emplace(name / destination.lexically_relative(root.source), over);
    }
    mounts_.merge(mirrored);
}

/// The mount that decides about a path.
IPYBOX_DECL bubblewrap_mounts::mounts::const_iterator bubblewrap_mounts::innermost(std::filesystem::path path) const {
    for (; path.has_relative_path(); path = path.parent_path())
        if (auto const found = mounts_.find(path); found != mounts_.end() && is_needed(path, found->second.as))
            return found;
    return mounts_.end();
}

/// Whether a mount changes anything about what it is around.
IPYBOX_DECL bool bubblewrap_mounts::is_needed(std::filesystem::path const& destination, kind as) const {
    if (as == kind::as_around) return is_hidden(destination.parent_path());
    if (as == kind::masked || as == kind::closed) return !is_hidden(destination.parent_path());
    return true;
}

IPYBOX_DECL bool bubblewrap_mounts::is_mount(std::filesystem::path const& destination) const {
    auto const found = mounts_.find(destination);
    return found != mounts_.end() && is_needed(destination, found->second.as);
}

IPYBOX_DECL bool bubblewrap_mounts::in_writable(std::filesystem::path const& real) const {
    auto const found = innermost(real);
    return found != mounts_.end() && found->second.as == kind::writable;
}

IPYBOX_DECL bool bubblewrap_mounts::is_hidden(std::filesystem::path const& path) const {
    auto const found = innermost(path);
    return found == mounts_.end() ? lies_in_one(path, hidden_) : found->second.as == kind::closed;
}

IPYBOX_DECL void bubblewrap_mounts::add(std::filesystem::path const& given, std::filesystem::path const& real,
                                        kind as) {
    insert(real, real, as);
    // A link in a hidden directory is hidden too: the path as it was given gets a mount of its own.
    if (auto const normal = given.lexically_normal(); is_hidden(normal)) insert(normal, real, as);
}

IPYBOX_DECL void bubblewrap_mounts::insert(std::filesystem::path destination, std::filesystem::path const& source,
                                           kind as) {
    if (!destination.has_filename()) destination = destination.parent_path();
    auto const [entry, added] = mounts_.try_emplace(std::move(destination), mount{source, as});
    bool const opens = as == kind::writable || entry->second.as == kind::closed || entry->second.as == kind::as_around;
    if (!added && opens) entry->second = mount{source, as};
}

IPYBOX_DECL void bubblewrap_mounts::append_to(std::vector<std::string>& argv) const {
    append_pins_to(argv);
    std::vector<std::string> closed;
    for (auto const& [destination, over] : mounts_) {
        if (!is_needed(destination, over.as)) continue;
        if (over.as == kind::closed) {
            argv.insert(argv.end(), {"--tmpfs", destination.string()});
            closed.insert(closed.end(), {"--remount-ro", destination.string()});
        } else {
            auto const* how = over.as == kind::writable ? "--bind" : "--ro-bind";
            argv.insert(argv.end(), {how, over.source.string(), destination.string()});
        }
    }
    // Not before what lies in them has its mount points.
    argv.insert(argv.end(), closed.begin(), closed.end());
}

IPYBOX_DECL result<std::vector<os::file_identity>> bubblewrap_mounts::places() const {
    std::vector<os::file_identity> all;
    for (auto const& [destination, over] : mounts_) {
        if (over.as == kind::closed || !is_needed(destination, over.as)) continue;
        auto source = os::identity_of(over.source);
        if (!source)
            return failure(errc::io_error, over.source.string() + " has been removed, or exchanged for a link, while "
                                                                  "the sandbox was being made; start again");
        source->path = destination;
        all.push_back(*std::move(source));
    }
    return all;
}

/**
 * The directories between a closed path and the writable one that it lies in become mount points, since these cannot be
 * renamed, and so not be replaced by others. The writable directory is then mounted over them once more: it stays one
 * file system, in which files can be moved around.
 */
IPYBOX_DECL void bubblewrap_mounts::append_pins_to(std::vector<std::string>& argv) const {
    std::set<std::filesystem::path> pins;
    mounts roots;
    for (auto const& [destination, over] : mounts_) {
        if (over.as == kind::writable || !is_needed(destination, over.as)) continue;
        for (auto folder = destination.parent_path(); in_writable(folder) && !is_mount(folder);
             folder = folder.parent_path()) {
            pins.insert(folder);
            roots.insert(*innermost(folder));
        }
    }
    for (auto const& [destination, root] : roots)
        argv.insert(argv.end(), {"--bind", root.source.string(), destination.string()});
    for (auto const& folder : pins) argv.insert(argv.end(), {"--ro-bind", folder.string(), folder.string()});
}

} // namespace ipybox::detail
