#pragma once

/** \file
 * The whole library. `zmq_transport` is part of it where the program is linked with `ipybox::zmq` or
 * `ipybox::zmq_header_only`. Including `executor.hpp` alone is cheaper where the class `executor` is enough.
 */

#include <ipybox/approval.hpp>
#include <ipybox/basic_executor.hpp>
#include <ipybox/codegen.hpp>
#include <ipybox/execution.hpp>
#include <ipybox/execution_stream.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/job.hpp>
#include <ipybox/mcp.hpp>
#include <ipybox/packages.hpp>
#include <ipybox/runtime.hpp>
#include <ipybox/sandbox.hpp>
#include <ipybox/session/kernel_state.hpp>
#include <ipybox/session/unprotected_file.hpp>
#include <ipybox/tools.hpp>
#include <ipybox/transport.hpp>
#include <ipybox/version.hpp>
