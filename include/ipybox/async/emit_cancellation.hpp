#pragma once

#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>

// Qt defines `emit` as a macro, and its headers may come before ours.
#pragma push_macro("emit")
#undef emit

namespace ipybox::detail {

/// Tells who has the signal's slot that it is to end.
inline void emit_cancellation(asio::cancellation_signal& signal,
                              asio::cancellation_type type = asio::cancellation_type::terminal) {
    signal.emit(type);
}

} // namespace ipybox::detail

#pragma pop_macro("emit")
