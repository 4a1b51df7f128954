// prints: over ZeroMQ: 42

#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/basic_executor.hpp>
#include <ipybox/execution.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/transport/zmq_transport.hpp>

#include <iostream>
#include <utility>

int main() {
    //! [zmq]
    // The kernel that this kernelspec names is started inside the sandbox.
    ipybox::zmq_transport transport({.kernelspec = "python3"});
    ipybox::basic_executor box({}, ipybox::deny_approval{}, ipybox::bubblewrap_sandbox{}, std::move(transport));

    auto result = box.execute("6 * 7");
    //! [zmq]
    if (!result) {
        std::cerr << result.error() << '\n';
        return 1;
    }
    std::cout << "over ZeroMQ: " << result->text << '\n';
}
