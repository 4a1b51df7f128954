#pragma once

#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/runtime.hpp>

#include <utility>

namespace ipybox {
IPYBOX_DECL runtime::runtime(runtime_options options, any_sandbox sandbox) {
    auto python = find_python(options.python);
    supervisor_options s;
    // An interpreter that cannot be found is told by the first start, like everything else that stands in its way.
    s.wrap = [sandbox = std::move(sandbox),
              missing = python ? std::optional<error>() : python.error()](launch_spec spec) {
        return missing ? result<launch_spec>(failure(*missing)) : sandbox.wrap(std::move(spec));
    };
    if (python) s.python = std::move(*python);
    s.env = kernel_environment(options.kernel_env);
    std::error_code ignored;
    s.working_dir =
        std::filesystem::absolute(options.working_dir.empty() ? "." : options.working_dir, ignored).lexically_normal();
    s.preload = std::move(options.preload);
    s.allow = std::move(options.allow);
    s.read_only = std::move(options.read_only);
    s.hidden = std::move(options.hidden);
    s.has_tenants = true;
    supervisor_ = std::make_shared<ipybox::supervisor>(std::move(s));
}

} // namespace ipybox
