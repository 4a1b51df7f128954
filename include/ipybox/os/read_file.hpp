#pragma once

#include <ipybox/core/result.hpp>

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>

namespace ipybox::os {

inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

/**
 * \brief The bytes of a file. Of a pipe, those that come until its writers have closed it.
 * \param name what the texts of errors call it
 * \par Errors errc::io_error — it cannot be read; errc::invalid_argument — it has more bytes than `limit`
 */
[[nodiscard]] result<std::string> read_file(std::filesystem::path const& file, std::string const& name,
                                            std::size_t limit);

/**
 * \brief As read_file, of a file that code may have put there: waits for no writer of a named pipe, and reads no
 * device.
 * \par Errors those of read_file; errc::invalid_argument — it is not a regular file
 */
[[nodiscard]] result<std::string> read_regular_file(std::filesystem::path const& file, std::string const& name,
                                                    std::size_t limit);

/// As read_file, of a descriptor that blocks.
[[nodiscard]] result<std::string> read_all(int descriptor, std::string const& name, std::size_t limit);

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/read_file.ipp>
#endif
