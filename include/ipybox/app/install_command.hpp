#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <string_view>

namespace ipybox::detail {

/// The contents of /etc/os-release (os-release(5)); empty: there is none.
[[nodiscard]] std::string os_release();

/// The command by which a distribution installs a package, by `ID` and `ID_LIKE` of its os-release; that of Debian
/// where they are unknown.
[[nodiscard]] std::string install_command(std::string_view os_release, std::string_view package);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/install_command.ipp>
#endif
