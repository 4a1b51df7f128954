#pragma once

#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <support/skip.hpp>

#include <utility>

namespace ipybox::test {

/// Where bubblewrap cannot be had, a case is skipped.
inline bool has_bubblewrap() {
    launch_spec spec;
    spec.argv = {"/bin/true"};
    spec.working_dir = "/usr";
    auto const works = bubblewrap_sandbox().wrap(std::move(spec));
    if (!works) skip(works.error().text());
    return works.has_value();
}

} // namespace ipybox::test
