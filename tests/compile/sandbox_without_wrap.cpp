// expect: a sandbox policy has `result<launch_spec> wrap(launch_spec) const`, or a specialisation of ipybox::sandbox_traits

#include <ipybox/sandbox/sandbox_policy.hpp>

struct jail {
    ipybox::launch_spec wrap(ipybox::launch_spec spec) const { return spec; } // not a result
};

template <class SandboxPolicy>
class sandboxed {
    static_assert(ipybox::detail::require_sandbox_policy<SandboxPolicy>());
};

sandboxed<jail> mistake;
