#pragma once

#include <ipybox/codegen/generate_options.hpp>
#include <ipybox/core/result.hpp>

#include <filesystem>

namespace ipybox::codegen::detail {

class directory;

/// Writes `__init__.py` of a directory of packages, by which they are searched: where there is none, or one of ours
/// that is not this one. \par Errors errc::io_error
[[nodiscard]] result<void> write_root_index(directory const& root);

/// The same, by its path; makes the directory. \par Errors errc::io_error
[[nodiscard]] result<void> write_index(std::filesystem::path const& root_dir, generate_options const& options);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/root_index.ipp>
#endif
