#pragma once

#include <ipybox/core/result.hpp>

#include <span>
#include <string>
#include <vector>

namespace ipybox::detail {

/// The packages that pip is asked to install.
struct package_order {
    std::vector<std::string> options = {};      ///< of pip
    std::vector<std::string> requirements = {}; ///< names, with versions where they are restricted
};

/**
 * \brief Reads the words behind `pip install`.
 * \details Packages are named, with extras, versions and markers. Paths, URLs and files of requirements are refused:
 * pip would read for the code what that may not read. So are options but `-q`, `-v`, `--upgrade`, `--pre` and
 * `--no-deps`: where packages come from, and where they go, is the application's to say.
 * \par Errors errc::invalid_argument, with the word
 */
[[nodiscard]] result<package_order> read_package_order(std::span<std::string const> words);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/packages/impl/package_order.ipp>
#endif
