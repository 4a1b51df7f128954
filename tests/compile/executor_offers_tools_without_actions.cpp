// expect: the transport of this executor carries no actions: its code can call no tools. Use socketpair_transport, or one whose transport_traits say carries_actions

#include <ipybox/ipybox.hpp>

void mistake() {
    ipybox::basic_executor box({}, ipybox::deny_approval{}, ipybox::no_sandbox{}, ipybox::zmq_transport{});
    box.add_tool(ipybox::host_tool("two", "Returns 2", [] { return 2; }));
}
