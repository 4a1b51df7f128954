#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/host_programs.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <chrono>
#include <filesystem>
#include <stop_token>

namespace ipybox {

/**
 * \brief Finds the Python interpreter for kernels.
 * \details `wanted` if it is not empty; else, in order: the variable IPYBOX_PYTHON, VIRTUAL_ENV, a `.venv` in the
 * current directory or above it, `python3` on PATH. A named interpreter that does not exist is an error, not a reason
 * to look further. A script in front of an interpreter (pyenv's shims) is asked for the interpreter itself, on the
 * host: not where code can have written it, nor in a `.venv` that is merely found.
 * \param host variables, the current directory and PATH are those of this snapshot
 * \param wanted the interpreter that is named; empty: none
 * \param bound how long a script may take to answer
 * \param stop ends the wait for a script
 * \return its absolute path, links unresolved: a virtual environment is known by it
 * \par Errors errc::python_not_found — says what was looked for and where, or that a script did not answer within
 * `bound`; errc::not_running — the search was to stop
 */
[[nodiscard]] result<std::filesystem::path> find_python(os::host_programs const& host,
                                                        std::filesystem::path const& wanted = {},
                                                        std::chrono::milliseconds bound = std::chrono::seconds(30),
                                                        std::stop_token stop = {});

/// The virtual environment whose interpreter `find_python` would take, as far as that can be told without running
/// anything; empty where it would be found in another way.
[[nodiscard]] std::filesystem::path python_environment(os::host_environment const& host,
                                                       std::filesystem::path const& wanted = {});

/// The variables that kernels inherit of the host: PATH, HOME, LANG, LC_* and TZ; with `more` on top.
[[nodiscard]] environment kernel_environment(os::host_environment const& host, environment const& more = {});

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/interpreter.ipp>
#endif
