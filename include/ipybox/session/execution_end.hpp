#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/session/execute_machine.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace ipybox::detail {

struct execution;

/// The ways in which an execution comes to its end; several may meet.
struct execution_end {
    std::optional<execution_over> over;      ///< the kernel's reply
    std::optional<error> death;              ///< why there is no kernel any more
    std::optional<error> unsent;             ///< why the code did not reach the kernel
    std::optional<errc> stopped;             ///< why the code was ended: errc::timed_out, errc::cancelled
    bool killed = false;                     ///< the kernel, which did not end its code
    std::optional<std::string> not_replaced; ///< why no fresh one could take its place
    bool lingers = false;                    ///< the kernel does not end, or reads nothing any more
    std::chrono::milliseconds end_grace{};   ///< how long it was waited for
    std::optional<error> output_failure;     ///< why a file of the output could not be written
};

/// Why a kernel that lingers had to be killed.
[[nodiscard]] std::string lingering_text(execution_end const& end);

/// The outcome of an execution for its caller; `output` has what was put out until then.
[[nodiscard]] result<execution_result> outcome_of(execution_end end, execution const& e, execution_result output);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/execution_end.ipp>
#endif
