#pragma once

#include <ipybox/app/diagnose.hpp>
#include <ipybox/app/directory_check.hpp>
#include <ipybox/app/impl/interpreter_check.hpp>
#include <ipybox/app/impl/kernel_trial.hpp>
#include <ipybox/app/impl/network_check.hpp>
#include <ipybox/app/install_command.hpp>
#include <ipybox/app/program_version.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/os/host_programs.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/placeholder_journal.hpp>
#include <ipybox/sandbox/sandbox_report.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

/// A program that people start MCP servers with, and how it is installed.
struct server_program {
    std::string name;
    std::string use;
    std::string remedy;
};

inline std::vector<server_program> server_programs(std::string_view system) {
    std::string const uv = "curl -LsSf https://astral.sh/uv/install.sh | sh";
    auto const node = install_command(system, "nodejs npm");
    return {{"node", "runs MCP servers of npm", node},
            {"npm", "installs them", node},
            {"npx", "fetches and runs them", node},
            {"uv", "installs MCP servers of PyPI", uv},
            {"uvx", "fetches and runs them", uv}};
}

/// Each is asked on a thread of its own, since one that hangs takes its whole bound.
inline std::vector<std::future<finding>> ask_programs(std::vector<server_program> const& programs,
                                                      std::shared_ptr<os::host_programs const> const& host,
                                                      std::chrono::milliseconds bound) {
    std::vector<std::future<finding>> answers;
    answers.reserve(programs.size());
    for (auto const& program : programs) {
        answers.push_back(std::async(std::launch::async, [program, host, bound] {
            auto found = find_versioned_program(*host, program.name, bound);
            found.note = program.use;
            if (found.state != finding_state::works) found.remedy = program.remedy;
            return found;
        }));
    }
    return answers;
}

inline std::filesystem::path state_directory(os::host_environment const& host) {
    auto const state = host.state_directory();
    return state.empty() ? std::filesystem::path() : state / "ipybox";
}

IPYBOX_DECL finding_group check_directories(std::filesystem::path const& working_dir) {
    finding_group group{"directories", "Directories that are written to"};
    auto working = check_directory("working", working_dir);
    working.needed = true;
    if (working.state == finding_state::fails) working.remedy = "choose another with --working-dir DIR";

    std::error_code unusable;
    auto const temporary = std::filesystem::temp_directory_path(unusable);
    auto held = check_directory("temporary", temporary.empty() ? std::filesystem::path("/tmp") : temporary);
    if (held.state == finding_state::fails) held.remedy = "export TMPDIR=DIR, of a directory that can be written to";
    held.needed = true;

    group.findings = {std::move(working), std::move(held)};
    auto const where = state_directory(os::host_environment::now());
    auto state =
        where.empty() ? finding{.name = "state", .gap = "there is no home directory"} : check_directory("state", where);
    // placeholder_journal takes a directory below /tmp then
    if (state.state != finding_state::works) state.remedy = "export XDG_STATE_HOME=DIR, of a directory of yours";
    group.findings.push_back(std::move(state));
    return group;
}

/// Removes what sandboxes of killed hosts have left behind; none: they left nothing.
inline std::optional<finding> remove_placeholders(os::host_environment const& host) {
    auto const journal = placeholder_journal::open(host);
    auto const swept = journal ? journal->sweep() : result<placeholder_journal::swept>(failure(journal.error()));
    if (!swept) return finding{.name = "placeholders", .state = finding_state::fails, .gap = swept.error().text()};
    if (swept->removed.empty()) return std::nullopt;
    std::string note = "removed what a killed run left behind:";
    for (auto const& path : swept->removed) note.append(" ").append(path.string());
    return finding{.name = "placeholders", .state = finding_state::works, .note = std::move(note)};
}

/// The findings about kernels: which policies are needed, once it is known which of them work.
inline void mark_needed(finding_group& kernels, std::string const& wanted) {
    auto const named = [&kernels](std::string_view name) {
        return std::ranges::find_if(kernels.findings, [name](finding const& f) { return f.name == name; });
    };
    auto needed = named(wanted == "best" ? "bubblewrap" : wanted);
    if (wanted == "best" && needed != kernels.findings.end() && needed->state != finding_state::works) {
        auto const other = named("landlock");
        if (other != kernels.findings.end() && other->state == finding_state::works) needed = other;
    }
    if (needed != kernels.findings.end()) needed->needed = true;
}

/// Code has worked in the working directory, and maybe in the current one.
inline std::shared_ptr<os::host_programs const> programs_beside(std::filesystem::path const& working_dir) {
    auto host = os::host_programs::now();
    auto const& environment = host->environment();
    for (auto const& directory : {environment.absolute(working_dir), environment.directory()})
        host->add_reach(bubblewrap_sandbox().reach(directory, environment));
    return host;
}

} // namespace detail

IPYBOX_DECL diagnosis diagnose(diagnose_options const& options, std::stop_token const& stop) {
    auto const system = detail::os_release();
    auto const host = detail::programs_beside(options.working_dir.empty() ? "." : options.working_dir);
    auto answers = detail::ask_programs(detail::server_programs(system), host, options.program_bound);

    diagnosis result;
    result.sandbox = options.sandbox;
    auto placeholders = detail::remove_placeholders(host->environment());
    result.libraries = library_versions();
    result.sandboxes = sandbox_report::make(bubblewrap_sandbox(), host);

    auto const working_dir = host->environment().absolute(options.working_dir.empty() ? "." : options.working_dir);
    auto const python = find_python(*host, options.python, options.kernel_bound, stop);
    detail::kernel_trials const trials{options, result.sandboxes, working_dir, system, stop};
    auto kernels = trials.run(python);
    detail::mark_needed(kernels.group, options.sandbox);

    result.groups.push_back(detail::interpreter_findings(python, options, *host, kernels));
    result.groups.push_back(std::move(kernels.group));
    finding_group programs{"programs", "Programs that start MCP servers (none is needed to run code)"};
    for (auto& answer : answers) programs.findings.push_back(answer.get());
    result.groups.push_back(std::move(programs));
    result.groups.push_back(detail::check_directories(working_dir));
    if (placeholders) result.groups.back().findings.push_back(*std::move(placeholders));
    constexpr std::chrono::milliseconds longest_lookup = std::chrono::seconds(5);
    result.groups.push_back(detail::check_network(std::min(options.program_bound, longest_lookup)));
    return result;
}

} // namespace ipybox
