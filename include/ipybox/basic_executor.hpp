#pragma once

#include <ipybox/executor.hpp>
#include <ipybox/session/kernel_link.hpp>
#include <ipybox/transport/transport.hpp>

#include <memory>
#include <utility>

/** \file
 * `basic_executor` with any transport.
 */

namespace ipybox::detail {

template <class Transport>
struct transport_check {
    static constexpr bool is_transport = transport<Transport>;

    // Of a type that lacks operations of a transport the compiler reports one error, not one for each operation.
    static constexpr bool carries_actions = [] {
        if constexpr (is_transport) return bool(transport_traits<Transport>::carries_actions);
        return true;
    }();
    static constexpr bool can_be_guarded = [] {
        if constexpr (is_transport) return bool(transport_traits<Transport>::can_be_guarded);
        return true;
    }();
};

template <class Transport>
std::shared_ptr<kernel_link> make_link(std::shared_ptr<Transport> transport) {
    return std::make_shared<transport_link<Transport>>(std::move(transport));
}

} // namespace ipybox::detail
