#pragma once

#include <ipybox/adapters/impl/model_text.hpp>
#include <ipybox/adapters/openai_tool.hpp>
#include <ipybox/core/base64.hpp>
#include <ipybox/core/json_census.hpp>
#include <ipybox/core/json_text.hpp>

#include <cstddef>
#include <string>

namespace ipybox {
namespace detail {

/// A member of an object. Text of a model is not copied: that recurses, as deep as it nests.
inline nlohmann::json const* member_of(nlohmann::json const* object, char const* name) {
    if (!object || !object->is_object()) return nullptr;
    auto const member = object->find(name);
    return member != object->end() ? &*member : nullptr;
}

/// A member that is a string; empty where there is none.
inline std::string string_member(nlohmann::json const* object, char const* name) {
    auto const* member = member_of(object, name);
    return member && member->is_string() ? member->get<std::string>() : std::string();
}

/// The text for the model that answers a call, `name` with arguments that are JSON in a string.
inline std::string answer_to(code_tool const& tool, nlohmann::json const* call) {
    constexpr std::size_t most_of_name = 200;
    constexpr json_bounds bounds{.bytes = std::size_t(16) << 20, .values = 1000, .depth = 64};
    auto const name = string_member(call, "name");
    if (name != tool.name())
        return "There is no tool " + without_middle(as_utf8(name), most_of_name) + ", only " + tool.name() + ".";
    auto const arguments = string_member(call, "arguments");
    if (count_json(arguments, bounds).excess != json_excess::none)
        return std::string("The arguments are too long, or nest too deeply. ") + right_call;
    auto const parsed = parse_json(arguments);
    if (parsed.is_discarded()) return std::string("The arguments are not valid JSON. ") + right_call;
    return text_for_model(tool.run(parsed));
}

} // namespace detail

IPYBOX_DECL nlohmann::json openai_tool::definition(openai_api api) const {
    nlohmann::json function{
        {"name", tool().name()}, {"description", tool().description()}, {"parameters", tool().parameters()}};
    if (api == openai_api::chat_completions) return {{"type", "function"}, {"function", std::move(function)}};
    function["type"] = "function";
    return function;
}

IPYBOX_DECL nlohmann::json openai_tool::call(nlohmann::json const& arguments) const {
    auto const outcome = tool().run(arguments);
    auto outputs = nlohmann::json::array();
    if (!outcome.text.empty()) outputs.push_back({{"type", "logs"}, {"logs", outcome.text}});
    for (auto const& image : outcome.images)
        outputs.push_back({{"type", "image"}, {"url", "data:image/png;base64," + base64_encode(image)}});
    return {{"type", "code_interpreter_call"},
            {"status", outcome.failed ? "failed" : "completed"},
            {"code", outcome.code},
            {"outputs", std::move(outputs)}};
}

IPYBOX_DECL nlohmann::json openai_tool::answer(nlohmann::json const& asked) const {
    if (auto const id = detail::string_member(&asked, "call_id"); !id.empty())
        return {{"type", "function_call_output"}, {"call_id", id}, {"output", detail::answer_to(tool(), &asked)}};
    return {{"role", "tool"},
            {"tool_call_id", detail::string_member(&asked, "id")},
            {"content", detail::answer_to(tool(), detail::member_of(&asked, "function"))}};
}

} // namespace ipybox
