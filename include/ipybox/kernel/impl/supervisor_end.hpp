#pragma once

#include <ipybox/core/error.hpp>
#include <ipybox/core/exit_status.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/kernel/version_check_source.hpp>
#include <ipybox/os/small_stack.hpp>

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// The end of a supervisor that was not asked to end.
struct supervisor_end {
    exit_status status;
    bool goes_on; ///< it has closed its control descriptor only
    bool was_ready;
    std::string said;    ///< on standard error
    std::string program; ///< what was started: the interpreter, or the sandbox around it
    std::string python;  ///< the interpreter
};

/// The program that was started, and the interpreter behind it, for people.
inline std::string command_of(std::string const& program, std::string const& python) {
    return program.empty() || program == python ? python + " …" : program + " … " + python + " …";
}

/// The output of a program that should have been Python. Long lines, which quote our own source, are cut.
inline std::string with_short_lines(std::string_view text) {
    constexpr std::size_t longest = 300;
    std::string cut;
    while (!text.empty()) {
        auto const line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
        text.remove_prefix(line.size());
        auto const kept = whole_characters(line, longest);
        cut.append(line.substr(0, kept));
        if (kept < line.size()) cut += " […]\n";
    }
    return cut;
}

/// The command and the output of a supervisor that ended before it was ready.
inline std::string words_of(supervisor_end const& end) {
    auto text = "its command was " + command_of(end.program, end.python) + "; it said:\n" + with_short_lines(end.said);
    if (end.said.find("Traceback (most recent call last)") != std::string::npos) return text;
    return text + (text.ends_with('\n') ? "" : "\n") + "Does this command start a Python interpreter?";
}

/// Why one that said nothing ended before it was ready, as far as that can be guessed.
inline std::string guess_why(supervisor_end const& end) {
    if (end.status.signal == SIGSEGV && os::small_stack())
        return "programs that this process starts get a stack of " + std::to_string(*os::small_stack()) +
               " bytes (RLIMIT_STACK, `ulimit -s`), which is too small for Python: raise that limit to 8 MiB";
    if (end.program != end.python)
        return "it said nothing: does the sandbox's command " + end.program + " start the program behind it, " +
               end.python + ", and is that a Python interpreter?";
    return "it said nothing: is " + end.python + " a Python interpreter?";
}

inline error end_of_supervisor(supervisor_end const& end) {
    if (!end.was_ready && end.said.starts_with(too_old_begins))
        return error(errc::python_not_found, end.said).with_status(end.status);
    if (!end.was_ready && end.goes_on && end.said.empty())
        return error(errc::kernel_start_failed,
                     "the supervisor's control descriptor was closed before it was ready: does its command, " +
                         command_of(end.program, end.python) + ", leave that open?");
    std::string text = end.was_ready ? "the supervisor ended: " : "the supervisor ended before it was ready: ";
    text += to_string(end.status);
    if (!end.was_ready)
        text += "; " + (end.said.empty() ? guess_why(end) : words_of(end));
    else if (!end.said.empty())
        text += "; it said:\n" + end.said;
    auto const code = end.was_ready ? errc::supervisor_died : errc::kernel_start_failed;
    return error(code, std::move(text)).with_status(end.status);
}

} // namespace ipybox::detail
