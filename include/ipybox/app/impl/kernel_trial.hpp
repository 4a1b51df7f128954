#pragma once

#include <ipybox/app/diagnose_options.hpp>
#include <ipybox/app/finding.hpp>
#include <ipybox/app/impl/tried_kernels.hpp>
#include <ipybox/app/install_command.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/sandbox/landlock_sandbox.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/sandbox/sandbox_report.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// Code that prints an interpreter's versions, in one line.
inline constexpr std::string_view tell_versions =
    "import sys\n"
    "from importlib.metadata import PackageNotFoundError, version\n"
    "def version_or_dash(name):\n"
    "    try:\n"
    "        return version(name)\n"
    "    except PackageNotFoundError:\n"
    "        return '-'\n"
    "print(sys.version.split()[0], *map(version_or_dash, ['ipykernel', 'ipython', 'pydantic']))\n";

/// None where a line is not what `tell_versions` prints.
inline std::optional<interpreter_versions> read_versions(std::string const& line) {
    std::istringstream words(line);
    interpreter_versions versions;
    if (!(words >> versions.python >> versions.ipykernel >> versions.ipython >> versions.pydantic)) return std::nullopt;
    if (versions.pydantic == "-") versions.pydantic.clear();
    return versions;
}

/// Whether an error is about the interpreter, whatever the sandbox.
inline bool is_about_the_interpreter(error const& why) {
    return why == errc::python_not_found || why == errc::ipykernel_missing || why == errc::ipykernel_unsupported;
}

/// Starts a kernel in each sandbox and runs a cell.
class kernel_trials {
  public:
    kernel_trials(diagnose_options const& options, sandbox_report const& report,
                  std::filesystem::path const& working_dir, std::string_view system, std::stop_token const& stop)
        : options_(options), report_(report), working_dir_(working_dir), system_(system), stop_(stop) {}

    [[nodiscard]] tried_kernels run(result<std::filesystem::path> const& python) const {
        tried_kernels all;
        for (auto const& policy : report_.policies) {
            finding found{.name = policy.policy};
            found.version = version_of(policy.policy);
            if (auto why = why_untried(policy, python.has_value(), all); !why.empty()) {
                found.gap = std::move(why);
            } else if (!policy.gap.empty()) {
                found.state = finding_state::fails;
                found.gap = policy.gap;
                if (policy.policy == "bubblewrap" && report_.machine.bubblewrap.empty())
                    found.remedy = install_command(system_, "bubblewrap");
            } else {
                try_kernel(found, *python, all);
            }
            all.group.findings.push_back(std::move(found));
        }
        return all;
    }

  private:
    [[nodiscard]] std::string version_of(std::string_view policy) const {
        if (policy == "bubblewrap") return report_.machine.bubblewrap;
        if (policy == "srt") return report_.machine.srt;
        if (policy == "landlock" && report_.machine.landlock > 0)
            return "ABI " + std::to_string(report_.machine.landlock);
        return {};
    }

    [[nodiscard]] std::string why_untried(sandbox_report::policy_report const& policy, bool has_python,
                                          tried_kernels const& before) const {
        if (policy.policy == "none" && options_.sandbox != "none")
            return "not tried: code would run without a sandbox; ipybox doctor --sandbox none tries it";
        if (!policy.gap.empty()) return {}; // which is worth more than the following
        if (!has_python) return "not tried: there is no interpreter";
        if (before.fault) return "not tried: the interpreter cannot run kernels";
        if (stop_.stop_requested()) return "not tried: the diagnosis was stopped";
        return {};
    }

    static any_sandbox sandbox_of(std::string_view policy) {
        if (policy == "bubblewrap") return bubblewrap_sandbox{};
        if (policy == "srt") return srt_sandbox{};
        if (policy == "landlock") return landlock_sandbox{};
        return no_sandbox{};
    }

    void try_kernel(finding& found, std::filesystem::path const& python, tried_kernels& all) const {
        executor_options how;
        how.working_dir = working_dir_;
        how.kernel.python = python;
        how.kernel.init_timeout = options_.kernel_bound;
        auto const begin = std::chrono::steady_clock::now();
        executor box(std::move(how), any_approval{}, sandbox_of(found.name));
        std::stop_callback const ended(stop_, [&box] { box.cancel(); });
        execute_options call;
        call.timeout = options_.kernel_bound;
        auto const said = box.execute(std::string(tell_versions), std::move(call));
        if (!said) {
            found.state = stop_.stop_requested() ? finding_state::untried : finding_state::fails;
            found.gap = stop_.stop_requested() ? "not tried: the diagnosis was stopped" : said.error().text();
            if (!is_about_the_interpreter(said.error())) return;
            all.fault = said.error();
            found.gap = "the interpreter cannot run kernels";
            return;
        }
        found.state = finding_state::works;
        found.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
        if (!all.versions) all.versions = read_versions(said->text);
    }

    diagnose_options const& options_;
    sandbox_report const& report_;
    std::filesystem::path const& working_dir_;
    std::string_view system_;
    std::stop_token const& stop_;
};

} // namespace ipybox::detail
