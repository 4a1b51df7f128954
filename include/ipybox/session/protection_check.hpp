#pragma once

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

/// Those of the wishes that a sandbox does not fulfil. `cure` is for what one that is started with the wishes would
/// protect.
[[nodiscard]] std::vector<unprotected_file> unfulfilled(std::vector<protection_wish> const& wishes,
                                                        launch_spec const& confinement,
                                                        unprotected_file::protection cure);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/protection_check.ipp>
#endif
