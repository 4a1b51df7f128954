#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/host_environment.hpp>

#include <functional>
#include <optional>
#include <string>

namespace ipybox::mcp {

struct server_params;

namespace detail {

class value_names;

/// The value of a variable; none where it is not set.
using variable_lookup = std::function<std::optional<std::string>(std::string const& name)>;

/**
 * \brief Puts variables into parameters: into every text of them, once, from left to right.
 * \details `${NAME}` and `${env:NAME}` are the value; `${NAME:-default}` is the default where the variable is empty or
 * not set. `${userHome}` is `HOME`, and so is `~` at the beginning of a path, as in a shell; `${workspaceFolder}` is
 * the project that the parameters belong to, where they do.
 * \param lookup an application's may throw; none: the variables of `host`
 * \param seen gets the values that were put in; none: they are not wanted
 * \par Errors errc::variable_not_set — names the variables, and quotes nothing else; among them those that only an
 * editor can resolve, such as `${input:…}`. errc::invalid_argument — the look-up threw
 */
[[nodiscard]] result<server_params> put_variables(server_params params, variable_lookup const& lookup,
                                                  os::host_environment const& host, value_names* seen = nullptr);

} // namespace detail

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/variables.ipp>
#endif
