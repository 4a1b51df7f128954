#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/move_only_function.hpp>

#include <asio/any_io_executor.hpp>

namespace ipybox::detail {

/// Runs work on an executor, never inline. `asio::post` makes fifty functions for each type of work; this one is
/// compiled once.
void post_work(asio::any_io_executor const& executor, move_only_function<void()> work);

/// The same, at once where the executor allows that.
void dispatch_work(asio::any_io_executor const& executor, move_only_function<void()> work);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/async/impl/post_work.ipp>
#endif
