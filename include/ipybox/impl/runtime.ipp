#pragma once

#include <ipybox/async/home.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/runtime.hpp>

#include <utility>

namespace ipybox {
namespace detail {

/// A supervisor and the thread it works on, which must outlast it.
struct runtime_state {
    explicit runtime_state(supervisor_options options) : where(own_home()), owner(where.executor, std::move(options)) {}

    home where;
    supervisor owner;
};

} // namespace detail

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
    auto const state = std::make_shared<detail::runtime_state>(std::move(s));
    supervisor_ = std::shared_ptr<ipybox::supervisor>(state, &state->owner);
}

} // namespace ipybox
