#pragma once

#include <ipybox/rules/impl/shell_splitter.hpp>
#include <ipybox/rules/shell_line.hpp>

namespace ipybox::detail {

IPYBOX_DECL shell_line split_shell_line(std::string_view text) {
    shell_line found;
    shell_splitter(text, found, 0).run();
    return found;
}

} // namespace ipybox::detail
