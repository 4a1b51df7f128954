#pragma once

#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/packages/add_packages.hpp>
#include <ipybox/runtime.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <system_error>
#include <utility>

namespace ipybox {

IPYBOX_DECL runtime::runtime(runtime_options options) : runtime(std::move(options), bubblewrap_sandbox()) {}

IPYBOX_DECL runtime::runtime(runtime_options options, any_sandbox sandbox) : sandbox_(std::move(sandbox)) {
    detail::supervisor_options s;
    s.walls = options.walls && sandbox_.confines();
    s.wrap = [sandbox = sandbox_](launch_spec spec) { return sandbox.wrap(std::move(spec)); };
    s.python = std::move(options.python);
    s.env = kernel_environment(options.kernel_env);
    std::error_code ignored;
    s.working_dir =
        std::filesystem::absolute(options.working_dir.empty() ? "." : options.working_dir, ignored).lexically_normal();
    s.preload = std::move(options.preload);
    s.allow = std::move(options.allow);
    s.limits = options.limits;
    s.read_only = std::move(options.read_only);
    s.hidden = std::move(options.hidden);
    detail::add_packages(s, std::move(options.packages));
    s.has_tenants = true;
    host_ = std::make_shared<kernel_host>([s = std::move(s)] { return s; });
}

} // namespace ipybox
