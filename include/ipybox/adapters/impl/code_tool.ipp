#pragma once

#include <ipybox/adapters/code_tool.hpp>
#include <ipybox/adapters/impl/model_text.hpp>
#include <ipybox/core/error.hpp>
#include <ipybox/core/json_depth.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/mcp/argument_check.hpp>

#include <cstddef>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

constexpr std::string_view about_code_tool = "Runs Python code in an IPython session and returns what it prints, the "
                                             "value of the last expression, and plots as images. Variables, "
                                             "imports and functions stay for later calls. Use print() for what you "
                                             "need to see. If the code raises, the traceback is returned: "
                                             "correct the code and call again.";

/// The text of an error; of a Python exception its traceback.
inline std::string error_for_model(error const& why) {
    auto const* exception = why.exception();
    std::string text;
    if (why == errc::python_error && exception) {
        for (auto const& line : exception->traceback) text += line + '\n';
        if (text.empty()) text = exception->ename + ": " + exception->evalue;
    } else {
        text = why.text();
        if (exception) text += " (" + exception->ename + ": " + exception->evalue + ")";
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

inline void add_line(std::string& text, std::string const& line) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += line;
}

/// How many files of images an answer names.
constexpr std::size_t most_named_images = 5;

/// Images within their bounds, and notes about the others. They are not read from their files: code may have put links
/// there, or other files.
inline void add_images(code_outcome& outcome, execution_result const& output, code_tool_options const& options) {
    std::set<std::filesystem::path> added;
    for (auto const& shown : output.displays) {
        if (outcome.images.size() >= options.max_images) break;
        auto const* png = shown.image.empty() ? nullptr : shown.data.find("image/png");
        if (!png || png->size() > options.max_image_bytes || !added.insert(shown.image).second) continue;
        outcome.images.push_back(*png);
        outcome.image_files.push_back(shown.image);
    }
    std::size_t left_out = 0;
    for (auto const& file : output.images)
        if (!added.contains(file) && ++left_out <= most_named_images)
            add_line(outcome.text, "[a further image: " + file.string() + "]");
    if (left_out > most_named_images)
        add_line(outcome.text, "[and " + std::to_string(left_out - most_named_images) + " more images]");
}

/// The printed text, in at most so many bytes, and notes about output that is elsewhere.
inline void add_output(code_outcome& outcome, execution_result const& output, std::size_t most,
                       code_tool_options const& options) {
    outcome.text = without_middle(output.text, most);
    if (!output.spill_file.empty()) add_line(outcome.text, "[the whole output: " + output.spill_file.string() + "]");
    add_images(outcome, output, options);
    if (output.kernel_restarted) add_line(outcome.text, "[the session is a new one: variables and imports are gone]");
}

/// The text printed until the error, and the error; both within the bound.
inline void add_error(code_outcome& outcome, error const& why, code_tool_options const& options) {
    outcome.failed = true;
    auto const said = without_middle(error_for_model(why), options.max_text / 2);
    auto const left = options.max_text > said.size() ? options.max_text - said.size() : 0;
    if (auto const* output = why.output()) add_output(outcome, *output, left, options);
    add_line(outcome.text, said);
}

/// No value where the arguments fit the schema. The text quotes them: it may be as long, and no UTF-8.
inline std::optional<std::string> wrong_arguments(nlohmann::ordered_json const& schema,
                                                  nlohmann::json const& arguments) {
    constexpr std::size_t deepest = 64; // they are looked at by recursion
    std::optional<std::string> mismatch = "they nest too deeply";
    if (!nests_deeper_than(deepest, arguments)) mismatch = find_mismatch(schema, arguments);
    if (!mismatch) return std::nullopt;
    return "The arguments cannot be used: " + *mismatch + ". " + right_call;
}

/// An answer to a call of which nothing has run.
inline void refuse(code_outcome& outcome, std::string why, std::size_t most) {
    outcome.failed = true;
    outcome.text = without_middle(as_utf8(std::move(why)), most);
}

} // namespace detail

IPYBOX_DECL code_tool::code_tool(executor_base& box, code_tool_options options)
    : box_(&box), options_(std::move(options)) {
    if (options_.description.empty()) options_.description = detail::about_code_tool;
}

IPYBOX_DECL nlohmann::json code_tool::parameters() const {
    return {
        {"type", "object"},
        {"properties", {{"code", {{"type", "string"}, {"description", "Python code, as in a cell of a notebook"}}}}},
        {"required", nlohmann::json::array({"code"})},
        {"additionalProperties", false}};
}

IPYBOX_DECL code_outcome code_tool::run(nlohmann::json const& arguments) const noexcept {
    code_outcome outcome;
    try {
        if (auto wrong = detail::wrong_arguments(nlohmann::ordered_json(parameters()), arguments)) {
            detail::refuse(outcome, *wrong, options_.max_text);
            return outcome;
        }
        auto const code = arguments.at("code").get<std::string>();
        execute_options call;
        call.timeout = options_.timeout;
        auto const result = box_->execute(code, std::move(call));
        outcome.code = detail::as_utf8(code);
        if (result)
            detail::add_output(outcome, *result, options_.max_text, options_);
        else
            detail::add_error(outcome, result.error(), options_);
        outcome.text = detail::as_utf8(std::move(outcome.text));
    } catch (std::exception const& problem) {
        // of an approval policy of the application, or memory that is used up
        detail::refuse(outcome, problem.what(), options_.max_text);
    }
    return outcome;
}

IPYBOX_DECL std::string text_for_model(code_outcome const& outcome) {
    auto text = outcome.text;
    for (auto const& file : outcome.image_files)
        detail::add_line(text, "[image: " + detail::as_utf8(file.string()) + "]");
    return text.empty() ? "[no output]" : text;
}

} // namespace ipybox
