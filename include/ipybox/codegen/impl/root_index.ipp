#pragma once

#include <ipybox/codegen/impl/directory.hpp>
#include <ipybox/codegen/root_index.hpp>
#include <ipybox/codegen/support_source.hpp>
#include <ipybox/core/random_hex.hpp>

#include <string>
#include <string_view>

namespace ipybox::codegen::detail {

IPYBOX_DECL result<void> write_root_index(directory const& root) {
    static constexpr std::string_view name = "__init__.py", mark = "Written by ipybox.";
    std::string const file(name);
    auto const kind = root.kind_of(file);
    if (!kind) return tl::unexpected<error>(kind.error());
    if (*kind == entry_kind::directory || *kind == entry_kind::other) return {};
    auto const there = root.read(file, root_index.size() + 1);
    if (!there) return tl::unexpected<error>(there.error());
    auto const first_line = root_index.substr(0, root_index.find(mark) + mark.size());
    if (*there && (!(*there)->starts_with(first_line) || **there == root_index)) return {};
    auto const made = "." + file + ".tmp-" + random_hex(8);
    auto done = root.write(made, root_index);
    if (done) done = root.flush_all();
    if (done) done = root.replace(made, file);
    if (!done) (void)root.remove(made);
    return done;
}

IPYBOX_DECL result<void> write_index(std::filesystem::path const& root_dir, generate_options const& options) {
    auto root = directory::make(root_dir, options.code_dir);
    return root ? write_root_index(*root) : failure(root);
}

} // namespace ipybox::codegen::detail
