#pragma once

#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/os/pipe.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" char** environ; // NOLINT(readability-redundant-declaration): POSIX leaves declaring it to the program

namespace ipybox {
namespace detail {

inline bool is_script(std::filesystem::path const& file) {
    os::unique_fd const opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    char begin[2] = {};
    return opened && ::read(opened.get(), begin, sizeof begin) == sizeof begin && begin[0] == '#' && begin[1] == '!';
}

/// Asks a script in front of an interpreter which one it runs.
inline result<std::filesystem::path> interpreter_behind(std::filesystem::path const& script,
                                                        std::stop_token const& stop) {
    auto const unusable = [&script](std::string why) {
        return failure(errc::python_not_found,
                       script.string() + " does not run a Python interpreter: " + std::move(why));
    };
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
    for (char** variable = environ; *variable; ++variable) {
        std::string_view const text(*variable);
        if (auto const equals = text.find('='); equals != std::string_view::npos)
            spec.env.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    spec.working_dir = "/";
    auto process = os::start_process(spec, {{1, theirs.get()}});
    if (!process) return unusable(process.error().text());
    theirs.reset();
    os::unique_fd const stopped(::eventfd(0, EFD_CLOEXEC));
    std::stop_callback const wake(stop, [&stopped] { (void)::eventfd_write(stopped.get(), 1); });
    auto const status = process->wait(std::chrono::seconds(10), stopped.get());
    if (stop.stop_requested()) return failure(errc::not_running);
    if (!status) return unusable("it does not answer");
    if (status->code != 0) return unusable("it ends with " + to_string(*status));
    char path[4096];
    auto const count = ::read(answer.get(), path, sizeof path);
    std::string found(path, count > 0 ? static_cast<std::size_t>(count) : 0);
    if (auto const end = found.find('\n'); end != std::string::npos) found.resize(end);
    if (os::find_program(found).empty() || found.find('/') == std::string::npos) return unusable("it names none");
    return std::filesystem::path(found);
}

inline result<std::filesystem::path> usable(std::filesystem::path const& python, std::stop_token const& stop) {
    return is_script(python) ? interpreter_behind(python, stop) : result<std::filesystem::path>(python);
}

/// The interpreter that was named.
inline result<std::filesystem::path> named_python(std::filesystem::path const& wanted, std::string const& who,
                                                  std::stop_token const& stop) {
    auto const found = os::find_program(wanted.string());
    if (!found.empty()) return usable(found, stop);
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

} // namespace detail

IPYBOX_DECL result<std::filesystem::path> find_python(std::filesystem::path const& wanted, std::stop_token stop) {
    if (!wanted.empty()) return detail::named_python(wanted, "the option `python`", stop);
    if (char const* named = std::getenv("IPYBOX_PYTHON"); named && *named)
        return detail::named_python(named, "IPYBOX_PYTHON", stop);
    if (char const* active = std::getenv("VIRTUAL_ENV"); active && *active)
        return detail::named_python(detail::python_in(active), "VIRTUAL_ENV", stop);

    std::error_code ignored;
    auto folder = std::filesystem::current_path(ignored);
    for (; !folder.empty(); folder = folder.parent_path()) {
        auto const python = os::find_program(detail::python_in(folder / ".venv").string());
        if (!python.empty()) return detail::discovered_python(python);
        if (folder == folder.root_path()) break;
    }
    auto const python = os::find_program("python3");
    if (!python.empty()) return detail::usable(python, stop);
    return failure(errc::python_not_found, "no Python interpreter: neither the option `python`, IPYBOX_PYTHON nor "
                                           "VIRTUAL_ENV names one, there is no .venv in or above the "
                                           "current directory, and no python3 on PATH");
}

IPYBOX_DECL environment kernel_environment(environment const& more) {
    environment env = more;
    for (char** variable = environ; *variable; ++variable) {
        std::string_view const text(*variable);
        auto const name = text.substr(0, text.find('='));
        bool const inherited =
            name == "PATH" || name == "HOME" || name == "LANG" || name == "TZ" || name.starts_with("LC_");
        if (inherited && name.size() < text.size()) env.emplace(name, text.substr(name.size() + 1));
    }
    return env;
}

} // namespace ipybox
