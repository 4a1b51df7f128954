#pragma once

#include <ipybox/core/move_only_function.hpp>

#include <asio/error_code.hpp>

namespace ipybox::detail {

/// The handler of a timer's or a descriptor's `async_wait`, which makes eighty functions for each type of handler.
using wait_handler = move_only_function<void(asio::error_code)>;

} // namespace ipybox::detail
