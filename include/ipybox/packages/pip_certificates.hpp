#pragma once

#include <ipybox/core/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief The file of certificates that pip is to trust.
 * \param named by the application; empty: the one that the environment or a pip.conf of the user names for programs
 * like pip
 * \return absolute; empty: none is named
 * \par Errors errc::invalid_argument — `named` does not exist
 */
[[nodiscard]] result<std::filesystem::path> pip_certificates(std::filesystem::path const& named);

/// The value of `cert` in the text of a pip.conf: of its section [install], else of [global]. Empty: none.
[[nodiscard]] std::string certificates_in(std::string_view pip_conf);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/packages/impl/pip_certificates.ipp>
#endif
