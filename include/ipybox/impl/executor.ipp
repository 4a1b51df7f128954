#pragma once

#include <ipybox/executor.hpp>
#include <ipybox/session/kernel_link.hpp>

namespace ipybox::detail {

static_assert(transport<socketpair_transport>);
static_assert(transport_traits<socketpair_transport>::carries_actions);
static_assert(transport_traits<socketpair_transport>::can_be_guarded);

template <>
IPYBOX_DECL std::shared_ptr<kernel_link> make_link(std::shared_ptr<socketpair_transport> transport) {
    return std::make_shared<transport_link<socketpair_transport>>(std::move(transport));
}

} // namespace ipybox::detail
