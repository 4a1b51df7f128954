#pragma once

#include <ipybox/core/strict_json.hpp>
#include <ipybox/rules/prompt_pattern.hpp>

namespace ipybox {

IPYBOX_DECL prompt_pattern detail::prompt_pattern_from(strict_object& object) {
    auto const server = object.text("server");
    auto const prompt = object.text("prompt");
    return {wildcard(server.value_or("*")), wildcard(prompt.value_or("*"))};
}

} // namespace ipybox
