// expect: a sandbox policy has `result<launch_spec> wrap(launch_spec) const`, or a specialisation of ipybox::sandbox_traits

#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/basic_executor.hpp>

struct jail {
    ipybox::result<ipybox::launch_spec> wrap(ipybox::launch_spec spec) { return spec; } // not const
};

ipybox::basic_executor mistake{{}, ipybox::deny_approval{}, jail{}};
