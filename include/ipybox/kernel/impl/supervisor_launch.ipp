#pragma once

#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/json_of_bytes.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/cache_directory.hpp>
#include <ipybox/kernel/confinement.hpp>
#include <ipybox/kernel/impl/supervisor_launch.hpp>
#include <ipybox/kernel/impl/supervisor_limits.hpp>
#include <ipybox/kernel/runtime_source.hpp>
#include <ipybox/kernel/version_check_source.hpp>
#include <ipybox/os/claimed_directory.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/os/pipe.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// docs/kernel-protocol.md section 1.
inline constexpr int protocol_version = 1;

inline json texts(std::vector<std::filesystem::path> const& paths) {
    json names = json::array();
    for (auto const& path : paths) names.push_back(path.string());
    return names;
}

inline json described(launch_spec::kernel_walls const& walls, std::vector<system_access> const& allow) {
    json names = json::array();
    for (auto const access : allow) names.push_back(access.name());
    return {{"workspace", walls.workspace.string()},
            {"private", texts(walls.private_directories)},
            {"kept", texts(walls.kept)},
            {"size", walls.private_size},
            {"user", ::geteuid()},
            {"group", ::getegid()},
            {"allow", std::move(names)}};
}

inline std::string greeting(supervisor_options const& options, launch_spec const& launch,
                            std::filesystem::path const& caches) {
    json hello = {{"op", "hello"},
                  {"protocol", protocol_version},
                  {"preload", options.forks_kernels},
                  {"level", options.level},
                  {"modules", options.preload},
                  {"limits", limits_in(options.limits, launch)},
                  {"variables", launch.sandbox_variables},
                  {"changeable", texts(launch.changeable)},
                  {"private", texts(launch.private_directories)},
                  {"domain", launch.confinement != nullptr},
                  {"packages", options.package_dir.string()},
                  {"cache", caches.string()}};
    if (launch.walls) hello["walls"] = described(*launch.walls, launch.allow);
    return json_text(hello);
}

inline std::string described(std::vector<os::file_identity> const& places) {
    json list = json::array();
    for (auto const& place : places) list.push_back({place.path.string(), place.device, place.inode});
    return json_of_bytes(list);
}

/// The modules one after the other, and the places at the end, each behind a line with its name and size. They are not
/// copied: the heap would keep the room for as long as the host runs.
inline result<os::unique_fd> runtime_sources(std::string_view places) {
    std::vector<std::string> heads;
    for (auto const& module : runtime_modules)
        heads.push_back(std::string(module.name) + ' ' + std::to_string(module.text.size()) + '\n');
    heads.push_back("places.json " + std::to_string(places.size()) + '\n');
    std::vector<std::string_view> pieces;
    for (std::size_t i = 0; i < std::size(runtime_modules); ++i) {
        pieces.emplace_back(heads[i]);
        pieces.push_back(runtime_modules[i].text);
    }
    pieces.emplace_back(heads.back());
    pieces.push_back(places);
    return os::make_memory_file("ipybox_kernel", pieces);
}

inline constexpr char const* system_shell = "/bin/sh";

inline bool can_run(char const* program) { return ::access(program, X_OK) == 0; }

/// Whether a supervisor that is started so gets a keeper. A file that cannot be run is left to `start_process`, which
/// says why.
inline bool gets_keeper(launch_spec const& spec) {
    return !spec.first_in_namespace && can_run(system_shell) && !spec.argv.empty() &&
           can_run(spec.argv.front().c_str());
}

/// Puts the keeper in front: the sandbox is around the supervisor, and the keeper around both.
inline launch_spec with_keeper(launch_spec spec) {
    std::vector<std::string> argv{system_shell, "-c", std::string(runtime_keeper), "keeper",
                                  std::to_string(spec.control_fd)};
    std::move(spec.argv.begin(), spec.argv.end(), std::back_inserter(argv));
    spec.argv = std::move(argv);
    return spec;
}

inline error no_walls() {
    return error(errc::sandbox_unavailable,
                 "this sandbox does not keep the kernels of a runtime apart, bubblewrap_sandbox does; if they may see "
                 "each other's files and processes, do without walls between them");
}

inline result<launched_supervisor> launch(supervisor_options const& options, std::filesystem::path const& private_dir) {
    if (auto usable = check_directories(options); !usable) return failure(usable);
    auto control = os::make_seqpacket_pair();
    if (!control) return failure(control);
    auto standard_error = os::make_pipe();
    if (!standard_error) return failure(standard_error);

    std::shared_ptr<supervisor_cgroups> groups;
    os::unique_fd entrance;
    auto spec = confinement_of(options);
    if (!options.limits.cgroup.empty()) {
        auto made = supervisor_cgroups::make(options.limits);
        if (!made) return failure(made);
        groups = std::move(*made);
        auto opened = groups->of_supervisor().entrance();
        if (!opened) return failure(opened);
        entrance = std::move(*opened);
        spec.read_only.push_back(groups->hierarchy());
    }
    // Isolated: it imports nothing from its working directory, where code may have written, not even before its first
    // line.
    spec.argv = {options.python.string(), "-I", "-c", std::string(version_check), std::string(runtime_boot), ""};
    spec.env = options.env;
    spec.host = options.host;
    // Within walls each kernel has its own, in its temporary directory.
    std::shared_ptr<os::claimed_directory> caches;
    if (auto made = make_cache_directory(options.cache_dir, options.working_dir); !made) return failure(made);
    if (options.cache_dir.empty() && options.forks_kernels && options.wrap && !options.walls) {
        auto made = os::claimed_directory::make("ipybox-cache");
        if (!made) return failure(made);
        caches = std::make_shared<os::claimed_directory>(std::move(*made));
        spec.writable.push_back(caches->path());
    }
    if (!private_dir.empty()) {
        spec.writable.push_back(private_dir);
        spec.allow.push_back(system_access::unix_sockets); // a foreign kernel makes them there
    }
    spec.argv.back() = std::to_string(spec.control_fd);
    spec.keeps_kernels_apart = options.walls;
    auto wrapped = options.wrap ? options.wrap(std::move(spec)) : result<launch_spec>(std::move(spec));
    if (!wrapped) return failure(wrapped);
    if (options.walls && !wrapped->walls) return failure(no_walls());

    auto const program = wrapped->argv.empty() ? std::string() : wrapped->argv.front();

    auto const places = described(wrapped->places);
    auto sources = runtime_sources(places);
    if (!sources) return failure(sources);
    // The greeting waits in the socket until the supervisor is there to read it.
    std::vector<os::unique_fd> attached;
    attached.push_back(std::move(*sources));
    bool const kept = gets_keeper(*wrapped);
    os::unique_fd lifeline;
    if (kept) {
        auto pair = os::make_stream_pair(0);
        if (!pair) return failure(pair);
        lifeline = std::move(pair->ours);
        attached.push_back(std::move(pair->theirs));
        wrapped = with_keeper(std::move(*wrapped));
    }
    if (os::send_datagram(control->ours.get(), greeting(options, *wrapped, caches ? caches->path() : ""), attached) !=
        os::transfer::done)
        return failure(system_failure("greeting the supervisor", errno));

    auto process =
        os::start_process(*wrapped, {{wrapped->control_fd, control->theirs.get()}, {2, standard_error->writer.get()}},
                          kept ? os::orphans::adopted : os::orphans::left, entrance.get());
    if (!process)
        return failure(errc::kernel_start_failed, "the supervisor cannot be started: " + process.error().text());
    return launched_supervisor{std::move(*process),
                               std::move(control->ours),
                               std::move(standard_error->reader),
                               std::move(lifeline),
                               program,
                               std::make_shared<std::pair<std::shared_ptr<void const>, std::shared_ptr<void const>>>(
                                   std::move(caches), std::move(wrapped->keeps)),
                               std::move(wrapped->network),
                               std::move(wrapped->walls),
                               std::move(groups)};
}

IPYBOX_DECL result<launched_supervisor> launch_supervisor(supervisor_options const& options,
                                                          std::filesystem::path const& private_dir) {
    try {
        return launch(options, private_dir);
    } catch (...) {
        auto const why = error_of(std::current_exception());
        return failure(error(errc::kernel_start_failed, "the supervisor cannot be started: " + why.text())
                           .with_cause(why.cause()));
    }
}

} // namespace ipybox::detail
