#pragma once

#include <ipybox/session/unprotected_file.hpp>

#include <string_view>

namespace ipybox {
namespace detail {

inline std::string_view words_of(protection cure) {
    switch (cure) {
    case protection::next_kernel: return "reset() protects it";
    case protection::runtime_options: return "name it in runtime::options::sandbox.read_only";
    case protection::other_directory: break;
    }
    return "choose a working directory of its own for the code";
}

} // namespace detail

IPYBOX_DECL std::string unprotected_file::text() const {
    auto sentence = "the code can change " + path.string();
    sentence += server.empty() ? ", which must be read-only" : ", which the MCP server " + server + " is started from";
    return sentence.append("; ").append(detail::words_of(cure));
}

} // namespace ipybox
