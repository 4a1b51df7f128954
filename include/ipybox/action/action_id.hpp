#pragma once

#include <cstdint>

namespace ipybox::detail {

/// The kernel's number for a request of its own.
using action_id = std::int64_t;

} // namespace ipybox::detail
