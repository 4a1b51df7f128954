#pragma once

#include <ipybox/codegen/python_literal.hpp>
#include <ipybox/codegen/python_name.hpp>
#include <ipybox/core/ansi.hpp>
#include <ipybox/core/json_census.hpp>
#include <ipybox/core/json_is_finite.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/jupyter/exception_content.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/runtime_source.hpp>
#include <ipybox/mcp/json_writer.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/session/value_request.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

/// An expression for the module of these functions, which the first one that is evaluated in a kernel makes there. It
/// stands among the variables of the code, which may have such names as `type` and `exec`: of the built-in names it
/// uses `__import__` alone.
inline std::string values_module() {
    auto const* const found = std::ranges::find(runtime_modules, "values", &runtime_module::name);
    return "(lambda m, n, s, i: m.get(n) or [m.setdefault(n, v) for v in [i('sys').__class__(n)] "
           "if not i('builtins').exec(s, v.__dict__)][0])"
           "(__import__('sys').modules, '_ipybox_values', " +
           codegen::string_literal(found->text) + ", __import__)";
}

/// Names that code may give to a variable, of ASCII: others have several spellings.
inline result<void> check_variable(std::string_view name) {
    auto const is_word = [](char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    static constexpr std::size_t longest = 1000;
    bool const begins = !name.empty() && is_word(name.front()) && (name.front() < '0' || name.front() > '9');
    if (begins && name.size() <= longest && std::ranges::all_of(name, is_word) && !codegen::is_python_keyword(name))
        return {};
    return failure(errc::invalid_argument,
                   codegen::string_literal(name.substr(0, 100)) +
                       " cannot be the name of a variable: take letters, digits and '_', no digit first, at most 1000 "
                       "characters, and no keyword of Python");
}

IPYBOX_DECL std::string last_value_expression() { return values_module() + ".last()"; }

IPYBOX_DECL result<std::string> get_expression(std::string_view name) {
    if (auto usable = check_variable(name); !usable) return failure(usable);
    return values_module() + ".get(" + codegen::string_literal(name) + ")";
}

IPYBOX_DECL result<std::string> put_expression(std::string_view name, std::string_view text) {
    if (auto usable = check_variable(name); !usable) return failure(usable);
    if (text.size() > longest_value)
        return failure(errc::invalid_argument,
                       "the value has " + std::to_string(text.size()) +
                           " bytes of JSON, and may have 1 MiB: write it to a file that the code can read");
    return values_module() + ".put(" + codegen::string_literal(name) + ", " + codegen::string_literal(text) + ")";
}

/// `write` has a bound on the depth, so the second look has one too.
template <class Json, class Write>
result<std::string> written_value(Json const& value, Write write) {
    result<std::string> text = write(value);
    if (!text) return failure(errc::invalid_argument, "the value " + text.error().text());
    if (!json_is_finite(value))
        return failure(errc::invalid_argument, "the value has a number that is not finite, which JSON has no word for");
    return text;
}

IPYBOX_DECL result<std::string> text_of(nlohmann::ordered_json const& value) {
    return written_value(value, mcp::write_json);
}

IPYBOX_DECL result<std::string> text_of(nlohmann::json const& value) {
    return written_value(value, mcp::write_sorted_json);
}

/// Text of a kernel as a reason: bounded, and on one line.
inline std::string as_reason(std::string_view text) {
    static constexpr std::size_t longest = 500;
    return codegen::one_line(strip_ansi(std::string(text.substr(0, whole_characters(text, longest)))));
}

/// The JSON of an answer, checked and counted before anything is built from it.
inline void read_value(std::string text, value_answer& answer) {
    auto const counted = count_json(text, {longest_value, most_values});
    if (counted.excess == json_excess::bytes) answer.missing = "larger than 1 MiB as JSON";
    if (counted.excess == json_excess::values) answer.missing = "more than 100000 values as JSON";
    if (counted.excess == json_excess::depth) answer.missing = "not JSON: it is nested too deeply";
    if (counted.excess != json_excess::none) return;
    auto read = mcp::raw_json::of_text(std::move(text), mcp::raw_json::duplicate_names::refused);
    if (read)
        answer.value = json_value(std::move(*read).take());
    else
        answer.missing = "not JSON: it " + read.error().text();
}

/// The text of an answer, if the kernel evaluated the expression.
inline std::string* text_of_answer(nlohmann::json& evaluated) {
    auto const data = evaluated.find("data");
    if (data == evaluated.end() || !data->is_object()) return nullptr;
    auto const plain = data->find("text/plain");
    return plain == data->end() ? nullptr : plain->get_ptr<std::string*>();
}

IPYBOX_DECL std::shared_ptr<value_answer> take_value(nlohmann::json& reply) {
    auto const expressions = reply.find("user_expressions");
    if (expressions == reply.end() || !expressions->is_object()) return nullptr;
    auto const found = expressions->find(value_expression_name);
    if (found == expressions->end() || !found->is_object()) return nullptr;
    auto answer = std::make_shared<value_answer>();
    if (jupyter::message::field(*found, "status") == "error") {
        answer->exception = jupyter::exception_in(*found);
        auto& [ename, evalue, traceback] = *answer->exception;
        if (ename.empty()) ename = "Error";
        answer->missing = as_reason(evalue.empty() ? ename : ename + ": " + evalue);
        return answer;
    }
    auto* const text = text_of_answer(*found);
    if (text && text->starts_with('!'))
        answer->missing = as_reason(std::string_view(*text).substr(1));
    else if (text && text->starts_with('='))
        read_value(std::move(text->erase(0, 1)), *answer);
    else
        answer->missing =
            "the kernel shows values in its own way: text/plain of user_expressions is not what was asked for";
    return answer;
}

} // namespace ipybox::detail
