#pragma once

#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/mcp/impl/schema_review.hpp>
#include <ipybox/mcp/impl/value_check.hpp>

namespace ipybox::detail {

IPYBOX_DECL std::optional<std::string> find_unchecked(nlohmann::ordered_json const& schema) {
    return schema_review(schema).of(schema, "");
}

IPYBOX_DECL std::optional<std::string> find_mismatch(nlohmann::ordered_json const& schema, nlohmann::json const& value,
                                                     check_budget& budget) {
    return value_check(schema, budget).of(schema, value, "");
}

IPYBOX_DECL std::optional<std::string> find_mismatch(nlohmann::ordered_json const& schema,
                                                     nlohmann::json const& value) {
    check_budget unbounded;
    return find_mismatch(schema, value, unbounded);
}

} // namespace ipybox::detail
