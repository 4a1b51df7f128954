// expect: a sandbox policy has `result<launch_spec> wrap(launch_spec) const`, or a specialisation of ipybox::sandbox_traits

#include <ipybox/sandbox/any_sandbox.hpp>

struct jail {};

ipybox::any_sandbox mistake = jail{};
