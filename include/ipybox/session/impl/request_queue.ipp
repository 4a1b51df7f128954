#pragma once

#include <ipybox/session/execution.hpp>
#include <ipybox/session/request_queue.hpp>

#include <utility>
#include <vector>

namespace ipybox::detail {

/// The request, if it is of this type.
template <class T>
T* as(queued_request const& r) noexcept {
    auto const* const found = std::get_if<std::shared_ptr<T>>(&r);
    return found ? found->get() : nullptr;
}

template <class T>
std::shared_ptr<T> shared_as(std::optional<queued_request> const& r) noexcept {
    auto const* const found = r ? std::get_if<std::shared_ptr<T>>(&*r) : nullptr;
    return found ? *found : nullptr;
}

/// Takes those that `wanted` says yes to out of the queue, and only then completes them.
template <class Predicate>
void end_those(std::deque<queued_request>& waiting, Predicate wanted, errc reason) {
    std::vector<queued_request> ended;
    std::erase_if(waiting, [&](queued_request const& r) {
        bool const ends = wanted(r);
        if (ends) ended.push_back(r);
        return ends;
    });
    for (auto const& r : ended) std::visit([&](auto const& call) { call->complete(failure(reason)); }, r);
}

IPYBOX_DECL std::optional<queued_request> request_queue::take() {
    if (waiting_.empty()) return std::nullopt;
    under_way_ = std::move(waiting_.front());
    waiting_.pop_front();
    return under_way_;
}

IPYBOX_DECL std::shared_ptr<execution> request_queue::running() const noexcept {
    return shared_as<execution>(under_way_);
}

IPYBOX_DECL std::shared_ptr<kernel_order> request_queue::obeyed() const noexcept {
    return shared_as<kernel_order>(under_way_);
}

IPYBOX_DECL void request_queue::end_executions(errc reason) {
    end_those(waiting_, [](queued_request const& r) { return as<execution>(r) != nullptr; }, reason);
}

IPYBOX_DECL void request_queue::end(execution const* which, errc reason) {
    end_those(waiting_, [which](queued_request const& r) { return as<execution>(r) == which; }, reason);
}

IPYBOX_DECL void request_queue::end(kernel_order const* which, errc reason) {
    end_those(waiting_, [which](queued_request const& r) { return as<kernel_order>(r) == which; }, reason);
}

IPYBOX_DECL void request_queue::fail_under_way(error const& why) {
    auto const failed = std::exchange(under_way_, std::nullopt);
    if (failed) std::visit([&](auto const& call) { call->fail(why); }, *failed);
}

} // namespace ipybox::detail
