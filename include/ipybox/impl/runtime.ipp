#pragma once

#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/packages/add_packages.hpp>
#include <ipybox/runtime.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL runtime::runtime() : runtime(options(), bubblewrap_sandbox()) {}

IPYBOX_DECL runtime::runtime(options how) : runtime(std::move(how), bubblewrap_sandbox()) {}

IPYBOX_DECL runtime::runtime(options how, any_sandbox sandbox) : sandbox_(std::move(sandbox)) {
    auto const host = os::host_programs::now();
    auto const& around = host->environment();
    detail::supervisor_options s;
    s.host = host;
    s.walls = how.walls && sandbox_.confines();
    s.wrap = [sandbox = sandbox_](launch_spec spec) { return sandbox.wrap(std::move(spec)); };
    s.python = std::move(how.kernel.python);
    s.env = kernel_environment(around, how.kernel.env);
    s.working_dir = around.absolute(how.working_dir.empty() ? "." : how.working_dir);
    auto reach = sandbox_.reach(s.working_dir, around);
    reach.close({python_environment(around, s.python)});
    reach.close(how.sandbox.read_only);
    reach.close(how.sandbox.hidden);
    host->add_reach(reach);
    s.preload = std::move(how.kernel.preload);
    s.allow = std::move(how.sandbox.allow);
    s.limits = how.sandbox.limits;
    s.read_only = std::move(how.sandbox.read_only);
    s.hidden = std::move(how.sandbox.hidden);
    detail::add_packages(s, std::move(how.kernel.packages));
    s.has_tenants = true;
    host_ = std::make_shared<kernel_host>([s = std::move(s)] { return s; });
}

} // namespace ipybox
