#pragma once

#include <ipybox/async/blocking_wait.hpp>
#include <ipybox/async/completion.hpp>
#include <ipybox/async/stack_promise.hpp>
#include <ipybox/core/result.hpp>

#include <utility>

namespace ipybox::detail {

/// Blocks until `submit` completes. Calls that no other thread would serve would wait for ever: they fail.
template <class T, class Session, class Submit>
result<T> wait_for(Session const& s, Submit submit) {
    if (auto served = s.may_block(); !served) return failure(served);
    stack_promise<result<T>> promise;
    auto const deliver = [&promise](result<T> value) { promise.set_value(std::move(value)); };
    {
        blocking_wait const here;
        submit(completion<result<T>>(called_in_place{deliver}));
    }
    return promise.get();
}

} // namespace ipybox::detail
