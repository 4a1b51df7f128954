#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <filesystem>
#include <stop_token>

namespace ipybox {

/**
 * \brief Finds the Python interpreter for kernels.
 * \details `wanted` if it is not empty; else, in order: the variable IPYBOX_PYTHON, VIRTUAL_ENV, a `.venv` in the
 * current directory or above it, `python3` on PATH. A named interpreter that does not exist is an error, not a reason
 * to look further. A script in front of an interpreter (pyenv's shims) is asked for the interpreter itself, unless it
 * lies in a `.venv` that is merely found: code may have written it, and the script would run on the host.
 * \return its absolute path, links unresolved: a virtual environment is known by it
 * \par Errors errc::python_not_found — says what was looked for and where, or that a script did not answer within ten
 * seconds; errc::not_running — the search was to stop
 */
[[nodiscard]] result<std::filesystem::path> find_python(std::filesystem::path const& wanted = {},
                                                        std::stop_token stop = {});

/// The variables that kernels inherit of this process: PATH, HOME, LANG, LC_* and TZ; with `more` on top.
[[nodiscard]] environment kernel_environment(environment const& more = {});

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/interpreter.ipp>
#endif
