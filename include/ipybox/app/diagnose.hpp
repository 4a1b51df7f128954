#pragma once

#include <ipybox/app/diagnose_options.hpp>
#include <ipybox/app/diagnosis.hpp>
#include <ipybox/core/config.hpp>

#include <stop_token>

namespace ipybox {

/**
 * \brief Finds out what works on this machine: the interpreter, a kernel in each sandbox, programs that start MCP
 * servers, directories.
 * \details Starts a kernel in every sandbox policy that is available, one after the other, and runs a cell that tells
 * the versions. "none" is tried only if it is wanted: an interpreter in a `.venv` may have been put there by code, and
 * would run outside of a sandbox. Programs are asked for their versions side by side. Holds up the calling thread for
 * some seconds; the bounds of the options and of `sandbox_report::make` add up.
 * \param stop cancels what runs; what is left is untried
 * \par Thread safety Safe.
 */
[[nodiscard]] diagnosis diagnose(diagnose_options const& options = {}, std::stop_token const& stop = {});

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/diagnose.ipp>
#endif
