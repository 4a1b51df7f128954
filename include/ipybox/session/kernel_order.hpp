#pragma once

#include <ipybox/session/pending_call.hpp>

#include <utility>

namespace ipybox::detail {

/// A call that starts or ends the kernel.
struct kernel_order final : pending_result<void> {
    /// `ensure` is what an execution does first: it starts no kernel where one was stopped.
    enum class kind { start, ensure, reset, stop };

    kernel_order(kind w, completion<result<void>> done)
        : pending_result<void>(std::move(done),
                               w == kind::start || w == kind::ensure ? served::in_its_turn : served::at_once),
          what(w) {}

    kind const what;
    bool unwanted = false;  ///< its caller does not wait for it any more
    bool overtaken = false; ///< a stop that came later does not wait for a kernel that is still to come
};

} // namespace ipybox::detail
