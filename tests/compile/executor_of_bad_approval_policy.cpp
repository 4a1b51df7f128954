// expect: an approval policy has `decide(approval_request)` that returns decision, asio::awaitable<decision> or void, or a specialisation of ipybox::approval_traits

#include <ipybox/basic_executor.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>

struct asker {
    bool decide(ipybox::approval_request const&) { return true; }
};

ipybox::basic_executor<ipybox::socketpair_transport, ipybox::no_sandbox, asker>* mistake;
constexpr auto size = sizeof(*mistake);
