#pragma once

#include <ipybox/os/code_reach.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/session/unprotected_file.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace ipybox::detail {

/// A path that code in a kernel must not change.
struct protection_wish {
    std::filesystem::path path;
    std::string server = {}; ///< that is started from it, or none
};

/// The places that code can change in a sandbox with a launch's own closed paths.
[[nodiscard]] os::code_reach reach_in(os::code_reach reach, launch_spec const& confinement);

/// Those of the wishes that a sandbox does not fulfil. `reach` is where it lets code write, without what a launch
/// closes. `cure` is for what one that is started with the wishes would
/// protect.
[[nodiscard]] std::vector<unprotected_file> unfulfilled(std::vector<protection_wish> const& wishes,
                                                        os::code_reach reach, launch_spec const& confinement,
                                                        unprotected_file::protection cure);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/protection_check.ipp>
#endif
