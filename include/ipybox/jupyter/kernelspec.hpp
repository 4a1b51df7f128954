#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/** \file
 * Kernelspecs, https://jupyter-client.readthedocs.io/en/stable/kernels.html, "Kernel specs".
 */

namespace ipybox::jupyter {

/// How a kernel wants to be interrupted.
enum class interrupt_mode {
    signal, ///< SIGINT to its process group
    message ///< `interrupt_request` on the control channel
};

/// How a kernel is started: what its `kernel.json` says.
struct kernelspec {
    std::string name;
    std::string display_name;
    std::string language;          ///< "python", "bash", …; lower case
    std::vector<std::string> argv; ///< with `{connection_file}` and other fields
    environment env;               ///< on top of the kernel's environment; values may have `${NAME}`
    interrupt_mode interrupts = interrupt_mode::signal;
    std::filesystem::path resource_dir; ///< where kernel.json is
};

/**
 * \brief The directories of kernelspecs, most important first.
 * \details `JUPYTER_PATH`; the user's data directory (`JUPYTER_DATA_DIR`, else `XDG_DATA_HOME/jupyter`, else
 * `~/.local/share/jupyter`); `share/jupyter` of the interpreter's prefix; `/usr/local/share/jupyter`;
 * `/usr/share/jupyter`. As in Jupyter, a virtual environment comes before the user's directory.
 * \param env the variables that say so
 * \param python the interpreter, not resolved: the prefix of a virtual environment is known by its path
 */
[[nodiscard]] std::vector<std::filesystem::path> kernelspec_dirs(environment const& env,
                                                                 std::filesystem::path const& python);

/// Parses a kernel.json. \par Errors errc::protocol_error — no JSON object, no argv, a member of the wrong type
[[nodiscard]] result<kernelspec> parse_kernelspec(std::string_view text);

/**
 * \brief Finds a kernelspec by its name, in which upper and lower case are the same.
 * \details `python3` that is nowhere is the ipykernel of the interpreter.
 * \par Errors errc::kernelspec_not_found — with the names that exist and the directories that were searched;
 * errc::invalid_argument — a name that no kernelspec can have, or a kernel.json of more than 1 MiB;
 * errc::protocol_error — its kernel.json is not usable; errc::io_error — it cannot be read
 */
[[nodiscard]] result<kernelspec> find_kernelspec(std::string_view name, std::vector<std::filesystem::path> const& dirs);

/**
 * \brief The command line: fields filled in, `python` and `python3` replaced by the interpreter.
 * \details Fields are `{connection_file}`, `{resource_dir}` and `{prefix}`; others stay as they are.
 */
[[nodiscard]] std::vector<std::string> kernel_command(kernelspec const& spec,
                                                      std::filesystem::path const& connection_file,
                                                      std::filesystem::path const& python);

/// The environment with the kernelspec's own variables, `$NAME` and `${NAME}` in them filled in; unknown ones stay as
/// they are.
[[nodiscard]] environment kernel_environment(kernelspec const& spec, environment env);

} // namespace ipybox::jupyter

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/kernelspec.ipp>
#endif
