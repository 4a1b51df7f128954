#pragma once

/** \file
 * Declares the library's names without defining them.
 */

namespace ipybox {

class error;
class executor;
class execution_stream;
class runtime;
struct execute_options;
struct execution_result;
struct executor_options;
struct runtime_options;

template <class Transport, class SandboxPolicy, class ApprovalPolicy>
class basic_executor;

} // namespace ipybox
