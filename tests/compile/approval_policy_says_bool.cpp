// expect: an approval policy has `decide(approval_request)` that returns decision, asio::awaitable<decision> or void, or a specialisation of ipybox::approval_traits

#include <ipybox/approval/approval_policy.hpp>

struct asker {
    bool decide(ipybox::approval_request const&) { return true; }
};

template <class ApprovalPolicy>
class approving {
    static_assert(ipybox::detail::require_approval_policy<ApprovalPolicy>());
};

approving<asker> mistake;
