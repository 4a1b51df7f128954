#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/launch_spec.hpp>

namespace ipybox::detail {

struct supervisor_options;

/// The paths and openings of the sandbox around a supervisor, without a program.
[[nodiscard]] launch_spec confinement_of(supervisor_options const& options);

/// Whether code can work in its directory, and not write to the packages that it imports. \par Errors
/// errc::invalid_argument
[[nodiscard]] result<void> check_directories(supervisor_options const& options);

/// Adds the paths that another set of options wants to have protected.
void add_protection(supervisor_options& options, supervisor_options const& more);

/// Whether a supervisor that was made with `options` has everything protected that `wanted` names.
[[nodiscard]] bool protects(supervisor_options const& options, supervisor_options const& wanted);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/confinement.ipp>
#endif
