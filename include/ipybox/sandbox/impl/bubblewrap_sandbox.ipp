#pragma once

#include <ipybox/os/lies_in.hpp>
#include <ipybox/sandbox/bubblewrap_mounts.hpp>
#include <ipybox/sandbox/bubblewrap_preflight.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/configured_rules.hpp>
#include <ipybox/sandbox/device_files.hpp>
#include <ipybox/sandbox/file_rules.hpp>
#include <ipybox/sandbox/hide_variables.hpp>
#include <ipybox/sandbox/parent_proxy_url.hpp>
#include <ipybox/sandbox/placeholder_journal.hpp>
#include <ipybox/sandbox/system_call_filter.hpp>

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

/// Whether the program may make namespaces, which is what walls between kernels are made of.
enum class room_for_walls { no, yes };

/// Everything but the binds: what can be had on this machine does not depend on the paths.
inline std::vector<std::string> bubblewrap_flags(bubblewrap_sandbox::options const& options,
                                                 std::vector<system_access> const& allow,
                                                 std::vector<std::filesystem::path> const& private_dirs,
                                                 device_files const& devices, room_for_walls room) {
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

    bool const has_room = room == room_for_walls::yes;
    if (!has_room && std::ranges::find(allow, system_access::user_namespaces) == allow.end()) add({"--disable-userns"});
    add({"--cap-drop", "ALL", "--new-session"});
    // It is root in its namespace, which can fork into others. Kernels are the user there, and have no capabilities.
    if (has_room) add({"--uid", "0", "--gid", "0", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETFCAP"});
    // The program is the first process: with it all others end, and no signal from inside reaches it.
    add({"--as-pid-1"});
    add({"--ro-bind", "/", "/"});
    add({"--dev", "/dev"});
    for (auto const& node : devices.nodes) add({"--dev-bind", node.c_str(), node.c_str()});
    add_tmpfs("/dev/shm");
    add({"--remount-ro", "/dev"}); // itself a tmpfs without a bound
    // Of root's, bwrap covers parts, and where any is covered the system mounts no further one. Kernels have their own
    // within walls.
    if (has_room && ::geteuid() == 0)
        add({"--bind", "/proc", "/proc"});
    else
        add({"--proc", "/proc"});
    // Root's files there, core_pattern among them, are writable for uid 0 without any capability; bwrap does not see
    // that.
    if (!has_room && ::geteuid() == 0) {
        add({"--ro-bind", "/proc/sys", "/proc/sys"});
        // So is what makes the first process the first one to be killed where memory runs out, or the last one to run.
        for (auto const* file : {"/proc/1/oom_score_adj", "/proc/1/oom_adj", "/proc/1/autogroup"})
            if (::access(file, F_OK) == 0) add({"--ro-bind", "/dev/null", file});
    }
    add({"--tmpfs", "/sys"});
    for (auto const& directory : devices.directories) add({"--ro-bind", directory.c_str(), directory.c_str()});
    for (auto const& [link, target] : devices.links) add({"--symlink", target.c_str(), link.c_str()});
    add({"--remount-ro", "/sys"});
    for (auto const& path : private_dirs) add_tmpfs(path.string());
    return flags;
}

/// Keys that other policies could honour.
inline result<void> check_enforceable(sandbox_config::network_access const& network) {
    auto const refuse = [](std::string_view key, std::string_view why) {
        return failure(errc::invalid_argument, std::string("the sandbox's configuration has network/")
                                                   .append(key)
                                                   .append(", which bubblewrap_sandbox cannot enforce: ")
                                                   .append(why));
    };
    bool const has_proxy = network.opens_hosts() && !network.parent_proxy.empty();
    if (auto const proxy = parent_proxy_url::parse(network.parent_proxy); has_proxy && !proxy)
        return failure(proxy.error());
    if (has_proxy && !network.denied_addresses.empty())
        return refuse("deniedResolvedAddresses", "the proxy of `parentProxy` looks names up; deny them there, or leave "
                                                 "one of the two out");
    if (!network.unix_sockets.empty())
        return refuse("allowUnixSockets",
                      "the sockets of some paths cannot be opened alone; allowAllUnixSockets opens them all");
    return {};
}

inline std::vector<system_access> access_of(sandbox_config const& config, std::vector<system_access> allow) {
    if (config.network.all_unix_sockets) allow.push_back(system_access::unix_sockets);
    if (config.nested_user_namespaces) allow.push_back(system_access::user_namespaces);
    return allow;
}

/// bwrap takes 9000 arguments: a few are left for the program and what is added to them.
inline constexpr std::size_t most_arguments = 8900;

inline bool is_writable(std::filesystem::path const& path, file_rules const& rules) {
    return lies_in_one(path, rules.writable) &&
           std::ranges::none_of(rules.guarded, [&](auto const& guarded) { return os::lies_in(path, guarded.path); });
}

/// Opens what the configuration opens, and what the launch needs.
inline result<void> open_paths(bubblewrap_mounts& mounts, file_rules const& rules, launch_spec const& spec,
                               std::filesystem::path const& working_dir) {
    auto const open = [&mounts](std::filesystem::path const& path, std::string_view what) -> result<void> {
        if (auto opened = mounts.open_writable(path, what); !opened) return failure(opened);
        return {};
    };
    for (auto const& path : rules.writable) {
        bool const is_closed = std::ranges::find(rules.unreadable, path) != rules.unreadable.end();
        if (auto opened = is_closed ? result<void>() : open(path, "allowWrite path"); !opened) return opened;
    }
    if (is_writable(working_dir, rules))
        if (auto opened = open(spec.working_dir, "working directory"); !opened) return opened; // a link to it as well
    mounts.open_readable(working_dir);
    for (auto const& path : spec.writable)
        if (auto opened = open(path, "writable path"); !opened) return opened;
    for (auto const& path : rules.unreadable) mounts.close(path);
    for (auto const& path : rules.readable) mounts.open_readable(path);
    for (auto const& path : spec.readable)
        if (auto added = mounts.add_readable(path); !added) return failure(added);
    return {};
}

/// Closes, in what is open, all that must not be written to or not be read.
inline void close_paths(bubblewrap_mounts& mounts, file_rules const& rules, launch_spec const& spec) {
    for (auto const& guarded : rules.guarded) mounts.add_read_only(guarded.path);
    for (auto const& path : spec.read_only) mounts.add_read_only(path);
    for (auto const& path : spec.hidden) mounts.add_hidden(path);
}

/// The program and the flags that work here.
inline result<std::vector<std::string>> bubblewrap_command(std::filesystem::path const& wanted,
                                                           std::vector<std::string> flags, std::string const& filter) {
    auto const program = find_bubblewrap(wanted);
    if (!program) return failure(program.error());
    auto usable = bubblewrap_preflight(*program, std::move(flags), filter);
    if (usable) usable->insert(usable->begin(), program->string());
    return usable;
}

inline launch_spec::kernel_walls walls_of(bubblewrap_sandbox::options const& options, file_rules const& rules,
                                          launch_spec const& spec, std::filesystem::path const& working_dir,
                                          std::vector<std::filesystem::path> const& private_dirs) {
    launch_spec::kernel_walls walls{working_dir, private_dirs, {}, options.tmpfs_size};
    walls.private_directories.emplace_back("/dev/shm");
    for (auto const* paths : {&rules.writable, &rules.readable, &spec.writable, &spec.readable})
        for (auto const& path : *paths) {
            std::error_code ignored;
            auto const real = std::filesystem::weakly_canonical(path, ignored);
            if (real == working_dir) continue;
            walls.kept.push_back(real);
            if (auto const given = path.lexically_normal(); given != real) walls.kept.push_back(given);
        }
    return walls;
}

} // namespace detail

IPYBOX_DECL result<launch_spec> bubblewrap_sandbox::wrap(launch_spec spec) const {
    if (spec.argv.empty()) return failure(errc::invalid_argument, "there is no program to start");
    if (auto enforceable = detail::check_enforceable(config_.network); !enforceable) return failure(enforceable);

    auto const private_dirs = detail::private_directories();
    detail::bubblewrap_mounts mounts(private_dirs);
    auto const working_dir = mounts.working_directory(spec.working_dir);
    if (!working_dir) return failure(working_dir.error());
    auto const journal = detail::placeholder_journal::open();
    if (!journal) return failure(journal.error());
    auto const rules = detail::configured_rules(config_, options_.most_searched, *working_dir, *journal, &spec);
    if (!rules) return failure(rules.error());
    if (auto opened = detail::open_paths(mounts, *rules, spec, *working_dir); !opened) return failure(opened);

    spec.allow = detail::access_of(config_, std::move(spec.allow));
    auto const room = spec.keeps_kernels_apart ? detail::room_for_walls::yes : detail::room_for_walls::no;
    auto for_program = spec.allow;
    if (spec.keeps_kernels_apart) {
        spec.walls = detail::walls_of(options_, *rules, spec, *working_dir, private_dirs);
        for_program.push_back(system_access::user_namespaces);
    }
    auto filter = detail::system_call_filter(for_program);
    if (!filter) return failure(filter);
    auto const devices = detail::device_files_of(config_.devices);
    if (!devices) return failure(devices.error());
    auto argv = detail::bubblewrap_command(options_.program.empty() ? config_.bwrap : options_.program,
                                           detail::bubblewrap_flags(options_, spec.allow, private_dirs, *devices, room),
                                           *filter);
    if (!argv) return failure(argv);

    auto placeholders = journal->hold(rules->guarded);
    if (!placeholders) return failure(placeholders);
    spec.keeps = *std::move(placeholders);
    detail::close_paths(mounts, *rules, spec);
    mounts.add_hidden(journal->directory()); // nor its locks be held
    mounts.mirror_second_names();
    mounts.append_to(*argv);
    auto places = mounts.places();
    if (!places) return failure(places);
    spec.places = *std::move(places);
    if (argv->size() > detail::most_arguments)
        return failure(errc::invalid_argument,
                       "the sandbox's configuration needs more mounts than bwrap takes; name directories in place "
                       "of patterns that fit many files");

    spec.read_only_devices = detail::protected_devices(*devices);
    // It ends the sandbox with the *thread* that started it. A supervisor ends with its socket instead.
    if (spec.ends_with_starter) argv->insert(argv->begin() + 1, "--die-with-parent");
    auto const filter_fd = (spec.inputs.empty() ? spec.control_fd : spec.inputs.rbegin()->first) + 1;
    spec.inputs.emplace(filter_fd, *std::move(filter));
    argv->insert(argv->end(), {"--seccomp", std::to_string(filter_fd), "--chdir", working_dir->string(), "--"});
    std::move(spec.argv.begin(), spec.argv.end(), std::back_inserter(*argv));
    spec.argv = *std::move(argv);
    spec.working_dir = *working_dir;
    spec.first_in_namespace = true;
    spec.changeable.assign(1, "/"); // all else is mounted read-only
    detail::hide_variables(spec, config_.hidden_variables);
    if (config_.network.opens_hosts()) spec.network = std::make_shared<sandbox_config const>(config_);
    return spec;
}

IPYBOX_DECL result<sandbox_config::description>
bubblewrap_sandbox::describe(std::filesystem::path const& working_dir) const {
    if (auto enforceable = detail::check_enforceable(config_.network); !enforceable) return failure(enforceable);
    auto private_dirs = detail::private_directories();
    auto const real = detail::bubblewrap_mounts(private_dirs).working_directory(working_dir);
    if (!real) return failure(real.error());
    auto const journal = detail::placeholder_journal::open();
    if (!journal) return failure(journal.error());
    auto rules = detail::configured_rules(config_, options_.most_searched, *real, *journal);
    if (!rules) return failure(rules);
    auto devices = detail::device_files_of(config_.devices);
    if (!devices) return failure(devices);
    auto seen = detail::description_of(*std::move(rules), config_);
    seen.devices = std::move(devices->nodes);
    seen.private_directories = std::move(private_dirs);
    return seen;
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

    /// Also of a path that does not exist, which code could make.
    bool contains(std::filesystem::path const& path) const {
        return is_open(real(path)) || goes_through_open_link(path);
    }

  private:
    using paths = std::vector<std::filesystem::path>;

    static std::filesystem::path real(std::filesystem::path const& path) {
        std::error_code ignored;
        return std::filesystem::weakly_canonical(path.has_filename() ? path : path.parent_path(), ignored);
    }

    /// Or is one. Such a directory does not count as closed.
    bool is_above_writable(std::filesystem::path const& path) const {
        return std::ranges::any_of(writable_, [&](auto const& writable) { return os::lies_in(writable, path); });
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
