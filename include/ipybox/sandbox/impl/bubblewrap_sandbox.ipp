#pragma once

#include <ipybox/os/closed_files.hpp>
#include <ipybox/os/host_programs.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/mount_table.hpp>
#include <ipybox/sandbox/bubblewrap_mounts.hpp>
#include <ipybox/sandbox/bubblewrap_preflight.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/configured_rules.hpp>
#include <ipybox/sandbox/device_files.hpp>
#include <ipybox/sandbox/file_rules.hpp>
#include <ipybox/sandbox/git_exclude.hpp>
#include <ipybox/sandbox/hide_variables.hpp>
#include <ipybox/sandbox/launch_host.hpp>
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
    for (auto const* paths : {&rules.unreadable_later, &spec.hidden})
        for (auto const& path : *paths) mounts.add_hidden(path);
    for (auto const& guarded : rules.guarded) mounts.add_read_only(guarded.path); // but those that are hidden
    for (auto const& path : spec.read_only) mounts.add_read_only(path);
}

/// Closes the same files where another mount of their file system shows them.
inline void close_other_names(bubblewrap_mounts& mounts, file_rules const& rules, launch_spec const& spec,
                              std::filesystem::path const& working_dir) {
    auto const table = os::mount_table::now();
    std::vector<std::filesystem::path> apart;
    if (spec.keeps_kernels_apart) apart.push_back(working_dir); // which kernels see by its own name, and a part of it
    for (auto const* secrets : {&rules.unreadable, &rules.unreadable_later, &spec.hidden, &std::as_const(apart)})
        for (auto const& path : *secrets)
            for (auto const& name : table.other_names(path)) mounts.add_hidden(name);
    for (auto const& guarded : rules.guarded)
        for (auto const& name : table.other_names(guarded.path)) mounts.add_read_only(name);
    for (auto const& path : spec.read_only)
        for (auto const& name : table.other_names(path)) mounts.add_read_only(name);
}

/// Placeholders, and files that cannot be read: git within the sandbox must pass over them.
inline std::vector<std::filesystem::path> unusable_for_git(file_rules const& rules, launch_spec const& spec) {
    auto paths = rules.unreadable;
    paths.insert(paths.end(), spec.hidden.begin(), spec.hidden.end());
    std::error_code ignored;
    for (auto const& guarded : rules.guarded)
        if (std::filesystem::is_empty(guarded.path, ignored)) paths.push_back(guarded.path);
    return paths;
}

/// The program and the flags that work here.
inline result<std::vector<std::string>> bubblewrap_command(std::filesystem::path const& wanted,
                                                           os::host_programs const& host,
                                                           std::vector<std::string> flags, std::string const& filter) {
    auto const program = find_bubblewrap(wanted, host);
    if (!program) return failure(program.error());
    auto usable = bubblewrap_preflight(*program, std::move(flags), filter, host.environment());
    if (usable) usable->insert(usable->begin(), program->string());
    return usable;
}

/// Finds the files in the working directory of a kernel within walls that it must not write to: those of its own
/// projects alone, by which no other kernel is held up.
class files_of_kernels : public os::closed_files_finder {
  public:
    /// \param scene of all kernels
    files_of_kernels(sandbox_config const& config, placeholder_journal journal, file_scene scene,
                     std::vector<std::filesystem::path> writable)
        : own_(config), journal_(std::move(journal)), scene_(std::move(scene)), writable_(std::move(writable)) {
        own_.filesystem = {.deny_read = {}, .allow_write = {{"."}}};
        own_.filesystem.allow_git_config = config.filesystem.allow_git_config;
    }

    [[nodiscard]] result<os::closed_files> find(std::filesystem::path const& working_dir) const override {
        os::closed_files closed;
        std::error_code missing; // the start says so
        auto const real = std::filesystem::canonical(working_dir, missing);
        if (missing || !lies_in_one(real, writable_)) return closed;
        auto const rules = configured_rules(own_, journal_, {real, scene_.home, scene_.most_entries});
        if (!rules) return failure(rules.error());
        auto held = journal_.hold(rules->guarded);
        if (!held) return failure(held);
        for (auto const& guarded : rules->guarded) closed.relative.push_back(guarded.path.lexically_relative(real));
        closed.keeps = *std::move(held);
        return closed;
    }

  private:
    sandbox_config own_;
    placeholder_journal journal_;
    file_scene scene_;
    std::vector<std::filesystem::path> writable_;
};

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

    auto const host = detail::host_of(spec, *this);
    auto const private_dirs = detail::private_directories();
    detail::bubblewrap_mounts mounts(private_dirs);
    auto const working_dir = mounts.working_directory(spec.working_dir);
    if (!working_dir) return failure(working_dir.error());
    auto const journal = detail::placeholder_journal::open(host->environment());
    if (!journal) return failure(journal.error());
    detail::file_scene scene{
        *working_dir, host->environment().home(), options_.most_searched, {}, detail::closed_paths_of(spec)};
    scene.is_shared = spec.keeps_kernels_apart;
    auto const rules = detail::configured_rules(config_, *journal, scene);
    if (!rules) return failure(rules.error());
    if (auto opened = detail::open_paths(mounts, *rules, spec, *working_dir); !opened) return failure(opened);

    spec.allow = detail::access_of(config_, std::move(spec.allow));
    auto const room = spec.keeps_kernels_apart ? detail::room_for_walls::yes : detail::room_for_walls::no;
    auto for_program = spec.allow;
    if (spec.keeps_kernels_apart) {
        spec.walls = detail::walls_of(options_, *rules, spec, *working_dir, private_dirs);
        spec.walls->closed =
            std::make_shared<detail::files_of_kernels>(config_, *journal, std::move(scene), rules->writable);
        for_program.push_back(system_access::user_namespaces);
    }
    auto filter = detail::system_call_filter(for_program);
    if (!filter) return failure(filter);
    auto const devices = detail::device_files_of(config_.devices);
    if (!devices) return failure(devices.error());
    auto argv = detail::bubblewrap_command(options_.program.empty() ? config_.bwrap : options_.program, *host,
                                           detail::bubblewrap_flags(options_, spec.allow, private_dirs, *devices, room),
                                           *filter);
    if (!argv) return failure(argv);

    auto placeholders = journal->hold(rules->guarded);
    if (!placeholders) return failure(placeholders);
    spec.keeps = *std::move(placeholders);
    detail::close_paths(mounts, *rules, spec);
    detail::close_other_names(mounts, *rules, spec, *working_dir);
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
    auto const next_input = [&spec] {
        return (spec.inputs.empty() ? spec.control_fd : spec.inputs.rbegin()->first) + 1;
    };
    if (auto exclude = detail::exclude_in(*working_dir, detail::unusable_for_git(*rules, spec));
        exclude && mounts.in_writable(exclude->file)) {
        argv->insert(argv->end(), {"--ro-bind-data", std::to_string(next_input()), exclude->file.string()});
        spec.inputs.emplace(next_input(), std::move(exclude->text));
    }
    auto const filter_fd = next_input();
    spec.inputs.emplace(filter_fd, *std::move(filter));
    argv->insert(argv->end(), {"--seccomp", std::to_string(filter_fd), "--chdir", working_dir->string(), "--"});
    std::move(spec.argv.begin(), spec.argv.end(), std::back_inserter(*argv));
    spec.argv = *std::move(argv);
    spec.working_dir = *working_dir;
    spec.first_in_namespace = true;
    spec.changeable.assign(1, "/"); // all else is mounted read-only
    spec.private_directories = private_dirs;
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
    auto const host = os::host_environment::now();
    auto const journal = detail::placeholder_journal::open(host);
    if (!journal) return failure(journal.error());
    auto rules = detail::configured_rules(config_, *journal, {*real, host.home(), options_.most_searched});
    if (!rules) return failure(rules);
    auto devices = detail::device_files_of(config_.devices);
    if (!devices) return failure(devices);
    auto seen = detail::description_of(*std::move(rules), config_);
    seen.devices = std::move(devices->nodes);
    seen.private_directories = std::move(private_dirs);
    return seen;
}

IPYBOX_DECL os::code_reach bubblewrap_sandbox::reach(std::filesystem::path const& working_dir,
                                                     os::host_environment const& host) const {
    return detail::reach_of(config_.filesystem, working_dir, host, detail::deciding_files::closed);
}

IPYBOX_DECL std::vector<std::filesystem::path>
bubblewrap_sandbox::unprotected(launch_spec const& spec, std::vector<std::filesystem::path> const& paths) {
    auto const code = detail::reach_of(spec);
    std::vector<std::filesystem::path> found;
    for (auto const& path : paths)
        if (code.can_change(path) && std::ranges::find(found, path) == found.end()) found.push_back(path);
    return found;
}

} // namespace ipybox
