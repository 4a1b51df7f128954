#pragma once

#include <ipybox/approval/approval_request.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/execution/display.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/execution/output_chunk.hpp>

#include <variant>

namespace ipybox {

namespace detail {

/// The output so far is cleared: by `clear_output()` at once, by `clear_output(wait=True)` before the next output.
struct output_cleared {};

} // namespace detail

/// An event of a stream. The last event is the result of the execution, or the error that ended it.
using execution_event =
    std::variant<output_chunk, display, detail::output_cleared, approval_request, result<execution_result>>;

} // namespace ipybox
