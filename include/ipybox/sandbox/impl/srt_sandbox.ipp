#pragma once

#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/os/temporary_directory.hpp>
#include <ipybox/sandbox/bubblewrap_mounts.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/configured_rules.hpp>
#include <ipybox/sandbox/hide_variables.hpp>
#include <ipybox/sandbox/launch_host.hpp>
#include <ipybox/sandbox/srt_command.hpp>
#include <ipybox/sandbox/srt_preflight.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>
#include <ipybox/sandbox/srt_settings.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

/// Settings of srt, and what of them is known here.
struct srt_document {
    std::string text;
    std::string name;      ///< in the texts of errors
    sandbox_config config; ///< the default, where it has keys that are not known
};

inline result<srt_document> document_of(sandbox_config const& config) {
    if (!config.network.allowed_addresses.empty())
        return failure(errc::invalid_argument, "the sandbox's configuration has network/allowedAddresses, which srt "
                                               "does not know; choose bubblewrap");
    if (!config.network.unix_sockets.empty())
        return failure(errc::invalid_argument,
                       "the sandbox's configuration has network/allowUnixSockets, which srt ignores on Linux; "
                       "allowAllUnixSockets opens them all");
    return srt_document{config.text(), "sandbox configuration", config};
}

inline result<srt_document> document_of(std::filesystem::path const& file) {
    constexpr std::size_t longest = std::size_t(1) << 20;
    auto text = os::read_file(file, "the settings of srt " + file.string(), longest);
    if (!text) return failure(text.error());
    auto const known = sandbox_config::parse(*text, file.string());
    return srt_document{*std::move(text), file.string(), known ? *known : sandbox_config()};
}

inline result<srt_document> document_of(std::variant<sandbox_config, std::filesystem::path> const& settings) {
    return std::visit([](auto const& form) { return document_of(form); }, settings);
}

/// As a launch has them, with those that are writable by configuration.
inline std::vector<std::filesystem::path> all_writable(file_rules const& rules, launch_spec const& spec) {
    auto all = rules.writable;
    all.push_back(spec.working_dir);
    all.insert(all.end(), spec.writable.begin(), spec.writable.end());
    return all;
}

/// The files that srt itself is started from: the directory of the command, and all packages that are installed with
/// it.
inline std::vector<std::filesystem::path> files_of_srt(std::filesystem::path const& program) {
    std::error_code ignored;
    auto const real = std::filesystem::weakly_canonical(program, ignored);
    std::filesystem::path packages;
    for (auto const& part : real.parent_path()) {
        packages /= part;
        if (part == "node_modules") break;
    }
    return {program.parent_path(), std::move(packages)};
}

/// Writable for srt's convenience, though no configuration says so: directories of other programs, which read them
/// outside.
inline std::vector<std::filesystem::path> conveniences_of_srt(std::filesystem::path const& home) {
    return {"/tmp/claude", home / ".npm/_logs", home / ".claude/debug"};
}

/// Those that exist, without links, and without those that a writable directory lies in.
inline std::vector<std::filesystem::path> closable(std::vector<std::filesystem::path> const& paths,
                                                   std::vector<std::filesystem::path> const& writable) {
    std::vector<std::filesystem::path> found;
    for (auto const& path : paths) {
        std::error_code missing;
        auto real = std::filesystem::canonical(path, missing);
        auto const holds = [&](auto const& open) {
            std::error_code ignored;
            return os::lies_in(std::filesystem::weakly_canonical(open, ignored), real);
        };
        if (!missing && std::ranges::none_of(writable, holds)) found.push_back(std::move(real));
    }
    return found;
}

inline bool allows(launch_spec const& spec, system_access access) {
    return std::ranges::find(spec.allow, access) != spec.allow.end();
}

inline result<void> check_handover(launch_spec const& spec) {
    if (spec.argv.empty()) return failure(errc::invalid_argument, "there is no program to start");
    if (spec.ends_with_starter)
        return failure(errc::invalid_argument, "srt_sandbox hands no standard input and output to a program; start an "
                                               "MCP server in bubblewrap, or with srt as its command");
    if (spec.control_fd < 3 || spec.control_fd > 9)
        return failure(errc::invalid_argument, "the control descriptor " + std::to_string(spec.control_fd) +
                                                   " cannot be handed to a program in srt; choose one of 3 to 9");
    if (allows(spec, system_access::io_uring) && !allows(spec, system_access::unix_sockets))
        return failure(errc::invalid_argument, "srt cannot open io-uring alone; allow unix-sockets, which opens both");
    return {};
}

/// The variables that srt sets inside: the way to its proxies, and where temporary files go.
inline constexpr std::array<std::string_view, 30> variables_of_srt{"SANDBOX_RUNTIME",
                                                                   "TMPDIR",
                                                                   "HTTP_PROXY",
                                                                   "http_proxy",
                                                                   "HTTPS_PROXY",
                                                                   "https_proxy",
                                                                   "ALL_PROXY",
                                                                   "all_proxy",
                                                                   "NO_PROXY",
                                                                   "no_proxy",
                                                                   "FTP_PROXY",
                                                                   "ftp_proxy",
                                                                   "GRPC_PROXY",
                                                                   "grpc_proxy",
                                                                   "RSYNC_PROXY",
                                                                   "DOCKER_HTTP_PROXY",
                                                                   "DOCKER_HTTPS_PROXY",
                                                                   "CLOUDSDK_PROXY_TYPE",
                                                                   "CLOUDSDK_PROXY_ADDRESS",
                                                                   "CLOUDSDK_PROXY_PORT",
                                                                   "CLOUDSDK_PROXY_USERNAME",
                                                                   "CLOUDSDK_PROXY_PASSWORD",
                                                                   "GIT_SSH_COMMAND",
                                                                   "GIT_CONFIG_PARAMETERS",
                                                                   "JAVA_TOOL_OPTIONS",
                                                                   "NODE_EXTRA_CA_CERTS",
                                                                   "SSL_CERT_FILE",
                                                                   "CURL_CA_BUNDLE",
                                                                   "REQUESTS_CA_BUNDLE",
                                                                   "GIT_SSL_CAINFO"};

/// Names of the working directory that srt closes too: where one is missing, it would make an empty file, which git
/// would stage, and which a killed srt leaves behind.
inline constexpr std::array<char const*, 8> names_of_srt{".gitconfig", ".gitmodules", ".bashrc",  ".bash_profile",
                                                         ".zshrc",     ".zprofile",   ".profile", ".ripgreprc"};

/// The meaning of a configuration for a working directory, which is without links.
struct srt_scene {
    std::filesystem::path working_dir;
    placeholder_journal journal;
    file_rules rules;
};

inline result<srt_scene> scene_of(sandbox_config const& config, srt_sandbox::options const& options,
                                  std::filesystem::path const& working_dir, os::host_environment const& host,
                                  std::vector<std::filesystem::path> closed = {}) {
    if (!config.devices.empty())
        return failure(errc::invalid_argument, "the sandbox's configuration names devices, which srt cannot open; "
                                               "remove them, or choose bubblewrap");
    auto real = bubblewrap_mounts(private_directories()).working_directory(working_dir);
    if (!real) return failure(real);
    auto journal = placeholder_journal::open(host);
    if (!journal) return failure(journal);
    for (auto const* name : names_of_srt) closed.push_back(*real / name / "");
    auto rules = configured_rules(config, *journal, {*real, host.home(), options.most_searched, {}, std::move(closed)});
    if (!rules) return failure(rules);
    return srt_scene{*std::move(real), *std::move(journal), *std::move(rules)};
}

/// An srt that works, and the host on which it does.
struct usable_srt {
    std::filesystem::path program;
    std::shared_ptr<os::host_programs const> host;
};

inline result<usable_srt> find_usable_srt(srt_sandbox::options const& options, std::filesystem::path const& bwrap,
                                          std::shared_ptr<os::host_programs const> host) {
    auto program = find_srt(options.program, *host);
    if (!program) return failure(program);
    auto works = srt_preflight(*program, bwrap, *host);
    if (!works) return failure(works);
    return usable_srt{*std::move(program), std::move(host)};
}

/// The files that stay as long as srt runs.
struct srt_belongings {
    std::shared_ptr<void const> placeholders;
    os::temporary_directory directory;
    std::filesystem::path code_dir; ///< in `directory`; the code's
};

inline result<srt_belongings> make_belongings(srt_scene const& scene) {
    auto placeholders = scene.journal.hold(scene.rules.guarded);
    if (!placeholders) return failure(placeholders);
    auto directory = os::temporary_directory::make("ipybox-srt");
    if (!directory) return failure(directory);
    auto code_dir = directory->path() / "code";
    std::error_code ec;
    std::filesystem::create_directory(code_dir, ec);
    if (ec) return failure(system_failure("making the directory " + code_dir.string(), ec.value()));
    return srt_belongings{*std::move(placeholders), *std::move(directory), std::move(code_dir)};
}

inline std::vector<std::filesystem::path> never_writable(usable_srt const& srt, srt_scene const& scene) {
    auto paths = files_of_srt(srt.program);
    std::ranges::move(conveniences_of_srt(srt.host->environment().home()), std::back_inserter(paths));
    paths.push_back(scene.journal.directory());
    return paths;
}

/// Whether a path lies, or leads, in a directory of another user that this one cannot enter, and so code cannot either:
/// with such a path, srt 0.0.83 loses what it knows of the working directory, and ends. A directory of the user's own
/// does not count: code could open it again.
inline bool is_out_of_reach(std::filesystem::path const& path, int links = 8) {
    std::filesystem::path way;
    for (auto name = path.begin(); name != path.end();) {
        way /= *name;
        auto const rest = ++name;
        struct ::stat status{};
        if (::lstat(way.c_str(), &status) != 0) return false;
        if (S_ISLNK(status.st_mode)) {
            std::error_code ignored;
            auto target = way.parent_path() / std::filesystem::read_symlink(way, ignored);
            for (auto more = rest; more != path.end(); ++more) target /= *more;
            return links > 0 && is_out_of_reach(target, links - 1);
        }
        if (rest != path.end() && S_ISDIR(status.st_mode) && ::access(way.c_str(), X_OK) != 0)
            return status.st_uid != ::geteuid();
    }
    return false;
}

/// Paths of a configuration that are out of reach, as they are written there.
inline std::vector<std::string> unreachable(sandbox_config::file_access const& files,
                                            std::filesystem::path const& working_dir,
                                            std::filesystem::path const& home) {
    std::vector<std::string> found;
    for (auto const* entries : {&files.deny_read, &files.allow_read, &files.deny_write})
        for (auto const& entry : *entries)
            if (is_out_of_reach(spelled_path(entry.path, working_dir, home))) found.push_back(entry.path);
    for (auto const& entry : files.allow_write) // which has to be entered itself
        if (is_out_of_reach(spelled_path(entry.path, working_dir, home) / ".")) found.push_back(entry.path);
    return found;
}

/// The additions of a launch to the settings.
inline srt_additions additions_of(launch_spec const& spec, srt_scene const& scene, usable_srt const& srt,
                                  srt_belongings const& belongings) {
    auto const writable = all_writable(scene.rules, spec);
    srt_additions more{.writable = spec.writable, .hidden = closable(spec.hidden, {})};
    more.writable.push_back(belongings.code_dir);
    for (auto& path : closable(spec.readable, {}))
        if (lies_in_one(path, scene.rules.unreadable)) more.readable.push_back(std::move(path));
    std::ranges::move(closable(scene.rules.unreadable_later, {}), std::back_inserter(more.hidden));
    for (auto const& guarded : scene.rules.guarded) more.read_only.push_back(guarded.path);
    auto const own = never_writable(srt, scene);
    for (auto const* closed : {&spec.read_only, &spec.readable, &own})
        for (auto& path : closable(*closed, writable)) more.read_only.push_back(std::move(path));
    more.unix_sockets = allows(spec, system_access::unix_sockets);
    more.user_namespaces = allows(spec, system_access::user_namespaces);
    return more;
}

inline std::optional<std::string> variable(environment const& env, std::string const& name) {
    auto const found = env.find(name);
    return found == env.end() ? std::nullopt : std::optional(found->second);
}

/// srt has the PATH and the home directory of the host, and makes its own files in the private directory.
inline void set_environment(environment& env, usable_srt const& srt, srt_belongings const& belongings) {
    env["PATH"] = srt.host->search_path();
    if (auto const& home = srt.host->environment().home(); !home.empty()) env["HOME"] = home.string();
    env["TMPDIR"] = belongings.directory.path().string();
    env["CLAUDE_CODE_TMPDIR"] = belongings.code_dir.string();
}

/// Puts srt in front.
inline launch_spec through_srt(launch_spec spec, std::string settings, usable_srt const& srt,
                               srt_belongings const& belongings) {
    srt_handover const handover{.srt = srt.program,
                                .settings_fd = spec.inputs.empty() ? 3 : spec.inputs.rbegin()->first + 1,
                                .private_dir = belongings.directory.path(),
                                .control_fd = spec.control_fd,
                                .path = variable(spec.env, "PATH"),
                                .home = variable(spec.env, "HOME")};
    spec.inputs.emplace(handover.settings_fd, std::move(settings));
    spec.argv = srt_command(handover, std::move(spec.argv));
    spec.control_fd = srt_control_fd;
    set_environment(spec.env, srt, belongings);
    return spec;
}

/// Variables that the configuration hides are taken out; these and those of srt are the same for all kernels.
inline void decide_variables(launch_spec& spec, std::vector<std::string> const& hidden) {
    spec.sandbox_variables.insert(spec.sandbox_variables.end(), variables_of_srt.begin(), variables_of_srt.end());
    hide_variables(spec, hidden);
}

} // namespace detail

IPYBOX_DECL result<launch_spec> srt_sandbox::wrap(launch_spec spec) const {
    if (auto possible = detail::check_handover(spec); !possible) return failure(possible);
    auto const document = detail::document_of(settings_);
    if (!document) return failure(document.error());
    auto const host = detail::host_of(spec, *this);
    auto scene = detail::scene_of(document->config, options_, spec.working_dir, host->environment(),
                                  detail::closed_paths_of(spec));
    if (!scene) return failure(scene);
    auto const srt = detail::find_usable_srt(options_, document->config.bwrap, host);
    if (!srt) return failure(srt.error());
    auto belongings = detail::make_belongings(*scene);
    if (!belongings) return failure(belongings);
    auto more = detail::additions_of(spec, *scene, *srt, *belongings);
    more.left_out = detail::unreachable(document->config.filesystem, scene->working_dir, host->environment().home());
    auto settings = detail::srt_settings(document->text, document->name, more);
    if (!settings) return failure(settings);

    for (auto const& path : scene->rules.writable)
        if (auto place = os::identity_of(path); place && !detail::is_out_of_reach(path / "."))
            spec.places.push_back(*std::move(place));
    detail::decide_variables(spec, document->config.hidden_variables);
    spec = detail::through_srt(std::move(spec), *std::move(settings), *srt, *belongings);
    spec.working_dir = scene->working_dir;
    spec.read_only_devices = detail::protected_devices({});
    spec.changeable.assign(1, "/"); // all else is mounted read-only
    spec.keeps = std::make_shared<detail::srt_belongings>(*std::move(belongings));
    return spec;
}

IPYBOX_DECL result<sandbox_config::description> srt_sandbox::describe(std::filesystem::path const& working_dir) const {
    auto const* const file = std::get_if<std::filesystem::path>(&settings_);
    auto const config = file ? sandbox_config::load(*file) : std::get<sandbox_config>(settings_);
    if (!config) return failure(config.error());
    if (auto const usable = detail::document_of(*config); !usable) return failure(usable.error());
    auto scene = detail::scene_of(*config, options_, working_dir, os::host_environment::now());
    if (!scene) return failure(scene);
    auto seen = detail::description_of(std::move(scene->rules), *config);
    seen.asks_for_hosts = false; // the program srt asks no one
    return seen;
}

IPYBOX_DECL os::code_reach srt_sandbox::reach(std::filesystem::path const& working_dir,
                                              os::host_environment const& host) const {
    auto const* const file = std::get_if<std::filesystem::path>(&settings_);
    auto const config = file ? sandbox_config::load(*file) : std::get<sandbox_config>(settings_);
    // Settings that cannot be read open nothing: the start says why.
    auto const& files = config ? config->filesystem : sandbox_config::file_access();
    return detail::reach_of(files, working_dir, host, detail::deciding_files::closed);
}

} // namespace ipybox
