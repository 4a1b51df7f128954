#pragma once

#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/os/pipe.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace ipybox {
namespace detail {

inline bool is_script(std::filesystem::path const& file) {
    os::unique_fd const opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    char begin[2] = {};
    return opened && ::read(opened.get(), begin, sizeof begin) == sizeof begin && begin[0] == '#' && begin[1] == '!';
}

/// How a script in front of an interpreter is waited for.
struct script_wait {
    std::chrono::milliseconds bound;
    std::stop_token stop;
};

/// Asks a script in front of an interpreter which one it runs.
inline result<std::filesystem::path> interpreter_behind(std::filesystem::path const& script,
                                                        os::host_programs const& host, script_wait const& wait) {
    auto const unusable = [&script](std::string why) {
        return failure(errc::python_not_found,
                       script.string() + " does not run a Python interpreter: " + std::move(why));
    };
    if (host.can_change(script))
        return failure(errc::python_not_found,
                       script.string() + " is a script where code can write, and would be run outside of the sandbox: "
                                         "name the interpreter that it stands for with the option `python`, or choose "
                                         "another working directory");
    auto ends = os::make_pipe();
    if (!ends) return failure(ends);
    auto const answer = std::move(ends->reader);
    auto theirs = std::move(ends->writer);
    // Processes that the script left behind may hold the other end without ever writing.
    if (::fcntl(answer.get(), F_SETFL, O_NONBLOCK) != 0) return failure(system_failure("fcntl", errno));
    launch_spec spec;
    // Not in a sandbox: it takes nothing from the packages of the user, which code may have put there where it works in
    // the home directory.
    spec.argv = {script.string(), "-I", "-c", "import sys; print(sys.executable)"};
    spec.env = host.environment().variables();
    spec.env["PATH"] = host.search_path();
    spec.working_dir = "/";
    auto process = os::start_process(spec, {{1, theirs.get()}});
    if (!process) return unusable(process.error().text());
    theirs.reset();
    os::unique_fd const stopped(::eventfd(0, EFD_CLOEXEC));
    std::stop_callback const wake(wait.stop, [&stopped] { (void)::eventfd_write(stopped.get(), 1); });
    auto const status = process->wait(wait.bound, stopped.get());
    if (wait.stop.stop_requested()) return failure(errc::not_running);
    if (!status) return unusable("it did not answer within " + std::to_string(wait.bound.count()) + " ms");
    if (status->code != 0) return unusable("it ends with " + to_string(*status));
    char path[4096];
    auto const count = ::read(answer.get(), path, sizeof path);
    std::string found(path, count > 0 ? static_cast<std::size_t>(count) : 0);
    if (auto const end = found.find('\n'); end != std::string::npos) found.resize(end);
    if (found.find('/') == std::string::npos || host.find(found).empty()) return unusable("it names none");
    return std::filesystem::path(found);
}

inline result<std::filesystem::path> usable(std::filesystem::path const& python, os::host_programs const& host,
                                            script_wait const& wait) {
    return is_script(python) ? interpreter_behind(python, host, wait) : result<std::filesystem::path>(python);
}

/// The interpreter that was named.
inline result<std::filesystem::path> named_python(os::host_programs const& host, std::filesystem::path const& wanted,
                                                  std::string const& who, script_wait const& wait) {
    auto const found = host.find(wanted.string());
    if (!found.empty()) return usable(found, host, wait);
    if (auto const why = host.passed_over(wanted.string()); !why.empty())
        return failure(errc::python_not_found, who + " names " + wanted.string() + ", and " + why);
    return failure(errc::python_not_found, who + " names " + wanted.string() + ", which is no program that can be run");
}

/// The interpreter of an environment that lies there. A script would have to be run on the host, and code that worked
/// in this directory may have written it.
inline result<std::filesystem::path> discovered_python(std::filesystem::path const& python) {
    if (!is_script(python)) return python;
    return failure(errc::python_not_found, python.string() +
                                               " is a script, which code may have written: remove it, or name the "
                                               "interpreter with the option `python`");
}

inline std::filesystem::path python_in(std::filesystem::path const& environment) {
    return environment / "bin" / "python";
}

/// The interpreter of the next `.venv` in or above a directory; empty: there is none.
inline std::filesystem::path python_above(std::filesystem::path folder) {
    for (; !folder.empty(); folder = folder.parent_path()) {
        auto python = python_in(folder / ".venv");
        if (os::is_runnable(python)) return python;
        if (folder == folder.root_path()) break;
    }
    return {};
}

inline error no_python(os::host_programs const& host) {
    auto text = std::string("no Python interpreter: neither the option `python`, IPYBOX_PYTHON nor VIRTUAL_ENV names "
                            "one, there is no .venv in or above the current directory, and no python3 on PATH");
    if (auto const why = host.passed_over("python3"); !why.empty()) text += "; " + why;
    return error(errc::python_not_found, std::move(text));
}

} // namespace detail

IPYBOX_DECL result<std::filesystem::path> find_python(os::host_programs const& host,
                                                      std::filesystem::path const& wanted,
                                                      std::chrono::milliseconds bound, std::stop_token stop) {
    detail::script_wait const wait{bound, std::move(stop)};
    auto const& variables = host.environment();
    if (!wanted.empty()) return detail::named_python(host, wanted, "the option `python`", wait);
    if (auto const named = variables.value("IPYBOX_PYTHON"); !named.empty())
        return detail::named_python(host, named, "IPYBOX_PYTHON", wait);
    if (auto const active = variables.value("VIRTUAL_ENV"); !active.empty())
        return detail::named_python(host, detail::python_in(active), "VIRTUAL_ENV", wait);
    if (auto const python = detail::python_above(variables.directory()); !python.empty())
        return detail::discovered_python(python);
    if (auto const python = host.find("python3"); !python.empty()) return detail::usable(python, host, wait);
    return failure(detail::no_python(host));
}

IPYBOX_DECL std::filesystem::path python_environment(os::host_environment const& host,
                                                     std::filesystem::path const& wanted) {
    auto python = wanted;
    if (auto named = host.value("IPYBOX_PYTHON"); python.empty()) python = std::move(named);
    if (auto const active = host.value("VIRTUAL_ENV"); python.empty() && !active.empty())
        python = detail::python_in(active);
    if (python.empty()) python = detail::python_above(host.directory());
    std::error_code ignored;
    auto prefix = (host.directory() / python).parent_path().parent_path();
    bool const is_one = python.has_parent_path() && std::filesystem::exists(prefix / "pyvenv.cfg", ignored);
    return is_one ? prefix : std::filesystem::path();
}

IPYBOX_DECL environment kernel_environment(os::host_environment const& host, environment const& more) {
    environment env = more;
    for (auto const& [name, value] : host.variables())
        if (name == "PATH" || name == "HOME" || name == "LANG" || name == "TZ" || name.starts_with("LC_"))
            env.emplace(name, value);
    return env;
}

} // namespace ipybox
