// expect: a transport has start, send, receive, interrupt, stop, forks_kernels and orders_messages, and kernel() where it carries actions (see transport/transport.hpp), or a specialisation of ipybox::transport_traits

#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/basic_executor.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>

struct pipe_transport {
    void send(ipybox::jupyter::message); // no coroutine, and nothing to receive
};

ipybox::basic_executor<pipe_transport, ipybox::no_sandbox, ipybox::deny_approval>* mistake;
constexpr auto size = sizeof(*mistake);
