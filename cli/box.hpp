#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>

#include <cli/box_options.hpp>
#include <cli/output_file.hpp>

#include <memory>

namespace ipybox::cli {

/// The sandbox that was asked for. What its configuration does less than it seems to is told.
[[nodiscard]] result<any_sandbox> sandbox_of(box_options const& options, output_file& err);

/// Makes the layer of packages; a private one where no directory is named. Its network is that of the options, and of
/// the sandbox's configuration.
[[nodiscard]] result<std::shared_ptr<package_layer const>> packages_of(box_options const& options);

/// The options that `run` and `mcp` share, with rules read and log opened.
[[nodiscard]] result<executor_options> box_executor_options(box_options const& options);

} // namespace ipybox::cli
