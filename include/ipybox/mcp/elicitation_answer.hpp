#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

namespace ipybox::mcp {

/// The choice of the client's user (MCP 2025-11-25, "Elicitation", section "Response Actions").
enum class elicitation_action {
    accept,  ///< answered it
    decline, ///< refused to
    cancel,  ///< closed it without a choice
};

/// The answer to a question of a tool. Its content comes from the client and is not validated against the schema that
/// was asked for.
struct elicitation_answer {
    elicitation_action action = elicitation_action::cancel;
    nlohmann::ordered_json content =
        nlohmann::ordered_json::object(); ///< what was filled in; an object, empty unless accepted
};

} // namespace ipybox::mcp
