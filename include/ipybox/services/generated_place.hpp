#pragma once

#include <ipybox/codegen/generate_options.hpp>

#include <filesystem>
#include <memory>

namespace ipybox::detail {

/// The place of a generated package, and its options, which are shared: their filter is the application's.
struct generated_place {
    std::filesystem::path root_dir;
    std::shared_ptr<codegen::generate_options const> options;
};

} // namespace ipybox::detail
