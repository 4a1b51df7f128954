#pragma once

/** \file
 * Everything that goes into an execution and comes out of it.
 */

#include <ipybox/execution/display.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/execution/execution_event.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/execution/input_request.hpp>
#include <ipybox/execution/job_output.hpp>
#include <ipybox/execution/job_state.hpp>
#include <ipybox/execution/json_value.hpp>
#include <ipybox/execution/output_chunk.hpp>
