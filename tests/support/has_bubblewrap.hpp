#pragma once

#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <support/skip.hpp>

#include <filesystem>
#include <utility>

namespace ipybox::test {

/// Where bubblewrap cannot be had, a case is skipped.
inline bool has_bubblewrap() {
    launch_spec spec;
    spec.argv = {"/bin/true"};
    spec.working_dir = std::filesystem::current_path(); // where no program lies
    auto const works = bubblewrap_sandbox().wrap(std::move(spec));
    if (!works) skip(works.error().text());
    return works.has_value();
}

} // namespace ipybox::test
