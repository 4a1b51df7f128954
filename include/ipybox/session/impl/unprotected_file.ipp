#pragma once

#include <ipybox/session/unprotected_file.hpp>

#include <string_view>

namespace ipybox::detail {

inline std::string_view words_of(unprotected_file::protection cure) {
    switch (cure) {
    case unprotected_file::protection::next_kernel: return "reset() protects it";
    case unprotected_file::protection::runtime_options:
        return "name it in sandbox.read_only of the runtime, or in denyWrite of the sandbox's configuration";
    case unprotected_file::protection::other_directory: break;
    }
    return "choose a working directory of its own for the code";
}

IPYBOX_DECL std::string unprotected_file::text() const {
    auto sentence = "the code can change " + path.string();
    sentence += server.empty() ? ", which must be read-only" : ", which the MCP server " + server + " is started from";
    return sentence.append("; ").append(words_of(cure));
}

} // namespace ipybox::detail
