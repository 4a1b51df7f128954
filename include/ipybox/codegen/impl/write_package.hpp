#pragma once

#include <ipybox/codegen/generated_package.hpp>
#include <ipybox/core/result.hpp>

#include <filesystem>

namespace ipybox::codegen::detail {

/// Says what `generated_package::write` says.
[[nodiscard]] result<generated_sources>
write_package(std::filesystem::path const& root_dir, generated_package const& package, generate_options const& options);

/// Says what `generated_package::compare` says.
[[nodiscard]] result<generated_package::changes> compare_package(std::filesystem::path const& root_dir,
                                                                 generated_package const& now);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/write_package.ipp>
#endif
