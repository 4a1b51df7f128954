#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <chrono>
#include <string>

namespace ipybox::os {

/**
 * \brief Runs a program and returns what it and all that it starts write to their standard output and error, 64 KiB at
 * most.
 * \details Holds up the calling thread until every process has closed its output, then kills what is left of them. Its
 * exit status counts for nothing: an application that ignores SIGCHLD gets none.
 * \par Errors errc::io_error — it cannot be started; errc::timed_out — the output is still open after `bound`
 */
[[nodiscard]] result<std::string> program_output(launch_spec const& spec, std::chrono::milliseconds bound);

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/program_output.ipp>
#endif
