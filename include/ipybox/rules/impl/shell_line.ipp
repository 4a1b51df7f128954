#pragma once

#include <ipybox/rules/impl/shell_splitter.hpp>
#include <ipybox/rules/shell_line.hpp>

namespace ipybox {

IPYBOX_DECL shell_line detail::split_shell_line(std::string_view text) {
    shell_line found;
    detail::shell_splitter(text, found, 0).run();
    return found;
}

} // namespace ipybox
