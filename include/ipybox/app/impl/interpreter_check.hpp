#pragma once

#include <ipybox/app/diagnose_options.hpp>
#include <ipybox/app/finding.hpp>
#include <ipybox/app/impl/tried_kernels.hpp>
#include <ipybox/app/install_command.hpp>
#include <ipybox/app/program_version.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/program_output.hpp>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// How `find_python` came to an interpreter.
struct interpreter_source {
    std::string_view in_words;
    bool named; ///< by the user, not merely found in a directory that code may have written to
};

inline interpreter_source source_of(std::filesystem::path const& wanted, std::filesystem::path const& found) {
    auto const is_set = [](char const* name) {
        auto const* value = std::getenv(name);
        return value && *value;
    };
    if (!wanted.empty()) return {"named by the option", true};
    if (is_set("IPYBOX_PYTHON")) return {"named by IPYBOX_PYTHON", true};
    if (is_set("VIRTUAL_ENV")) return {"of VIRTUAL_ENV", true};
    if (found.parent_path().parent_path().filename() == ".venv")
        return {"of the .venv in or above the current directory", false};
    return {"python3 on PATH", true};
}

/// The version of an interpreter that no kernel has told; empty where it cannot be asked. It runs on the host, so that
/// it must be one that was named.
inline std::string version_on_host(std::filesystem::path const& python, std::chrono::milliseconds bound) {
    environment env;
    if (auto const* path = std::getenv("PATH")) env.emplace("PATH", path);
    auto const said = os::program_output({{python.string(), "-I", "--version"}, std::move(env), "/"}, bound);
    return said ? version_in(*said) : std::string();
}

/// Cuts the command off that a line of an error's text ends with: "To install it: COMMAND".
inline void split_remedy(finding& found) {
    for (std::string_view const words : {"To install it: ", "An environment with it: "}) {
        auto const at = found.gap.find(words);
        if (at == std::string::npos) continue;
        auto const line = found.gap.find('\n', at);
        auto const behind = line == std::string::npos ? std::string() : ". " + found.gap.substr(line + 1);
        found.remedy = found.gap.substr(at + words.size(), line - at - words.size());
        found.gap.resize(at);
        found.gap.resize(found.gap.find_last_not_of(" .\n") + 1);
        found.gap += behind.substr(0, behind.find_last_not_of(" .\n") + 1);
        return;
    }
}

inline finding missing_interpreter(std::string gap, bool is_named) {
    finding found{.name = "interpreter", .state = finding_state::fails, .needed = true, .gap = std::move(gap)};
    auto const system = os_release();
    auto const python = install_command(system, "python3");
    auto const is_debian = python.find("apt-get") != std::string::npos; // which has venv in a package of its own
    if (!is_named)
        found.remedy = python + (is_debian ? " python3-venv" : "") +
                       " && python3 -m venv .venv && .venv/bin/pip install ipykernel";
    return found;
}

/// The modules that generated tool packages import.
inline finding pydantic_finding(std::filesystem::path const& python, interpreter_versions const& versions) {
    finding found{.name = "pydantic", .state = finding_state::works, .version = versions.pydantic};
    found.note = "for code that calls tools";
    if (!versions.pydantic.empty()) return found;
    found.state = finding_state::fails;
    found.gap = "code that calls tools needs it";
    found.remedy = python.string() + " -m pip install pydantic";
    return found;
}

/// The interpreter and what it needs, by what its kernels said, or why there was none.
inline finding_group interpreter_findings(result<std::filesystem::path> const& python, diagnose_options const& options,
                                          tried_kernels const& kernels) {
    finding_group group{"python", "Python for kernels"};
    auto const source = source_of(options.python, python.value_or(std::filesystem::path()));
    if (!python) {
        bool const is_named = source.in_words != "python3 on PATH";
        group.findings.push_back(missing_interpreter(python.error().text(), is_named));
        return group;
    }
    finding interpreter{.name = "interpreter", .state = finding_state::works, .needed = true};
    interpreter.path = *python;
    interpreter.note = source.in_words;
    finding ipykernel{.name = "ipykernel", .needed = true};
    if (kernels.versions) {
        interpreter.version = kernels.versions->python;
        ipykernel.state = finding_state::works;
        ipykernel.version = kernels.versions->ipykernel;
        ipykernel.note = "with IPython " + kernels.versions->ipython;
    } else {
        if (source.named) interpreter.version = version_on_host(*python, options.program_bound);
        bool const is_missing = kernels.fault && *kernels.fault == errc::python_not_found;
        if (is_missing || (source.named && interpreter.version.empty())) {
            interpreter.state = finding_state::fails;
            interpreter.gap = is_missing ? kernels.fault->text() : "it does not answer --version as Python does";
            interpreter.remedy = "name another: --python PATH, or the variable IPYBOX_PYTHON";
        }
        ipykernel.gap = "not asked: no kernel has started";
        if (kernels.fault && !is_missing) {
            ipykernel.state = finding_state::fails;
            ipykernel.gap = kernels.fault->text();
            split_remedy(ipykernel);
        }
    }
    group.findings.push_back(std::move(interpreter));
    group.findings.push_back(std::move(ipykernel));
    if (kernels.versions) group.findings.push_back(pydantic_finding(*python, *kernels.versions));
    return group;
}

} // namespace ipybox::detail
