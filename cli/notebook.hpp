#pragma once

#include <ipybox/core/result.hpp>

#include <cli/cells.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::cli {

/// The source of a notebook cell: a string, or a list of strings.
[[nodiscard]] inline result<std::string> notebook_source(nlohmann::json const& cell) {
    auto const source = cell.find("source");
    if (source != cell.end() && source->is_string()) return source->get<std::string>();
    if (source == cell.end() || !source->is_array()) return failure(errc::invalid_argument, "a cell has no source");
    std::string text;
    for (auto const& part : *source) {
        if (!part.is_string()) return failure(errc::invalid_argument, "the source of a cell is not text");
        text += part.get_ref<std::string const&>();
    }
    return text;
}

/// A JSON object with the members that every notebook has, which no Python code of use is.
[[nodiscard]] inline bool looks_like_notebook(std::string_view text) {
    if (!trimmed(text).starts_with('{')) return false;
    auto const book = nlohmann::json::parse(text, nullptr, false);
    return book.is_object() && book.contains("nbformat") && book.contains("cells");
}

/// The language that a notebook says it is written in; empty where it says none.
[[nodiscard]] inline std::string notebook_language(nlohmann::json const& book) {
    for (auto const* const place : {"/metadata/kernelspec/language", "/metadata/language_info/name"}) {
        nlohmann::json::json_pointer const pointer(place);
        if (book.contains(pointer) && book[pointer].is_string()) return book[pointer].get<std::string>();
    }
    return {};
}

/**
 * \brief The code cells of a Jupyter notebook, blank ones left out.
 * \par Errors errc::invalid_argument — no JSON, no notebook, or not of format 4; the text says which
 */
[[nodiscard]] inline result<std::vector<cell>> read_notebook(std::string_view text, bool any_language = false) {
    nlohmann::json book;
    try {
        book = nlohmann::json::parse(text);
    } catch (nlohmann::json::parse_error const& error) {
        return failure(errc::invalid_argument, "no valid JSON at byte " + std::to_string(error.byte));
    }
    if (!book.is_object() || !book.contains("nbformat"))
        return failure(errc::invalid_argument, "JSON, but not a Jupyter notebook");
    if (book["nbformat"] != 4)
        return failure(errc::invalid_argument,
                       "a notebook of format " + book["nbformat"].dump() +
                           ", only format 4 is read; `jupyter nbconvert --to notebook` converts it");
    if (!book.contains("cells") || !book["cells"].is_array())
        return failure(errc::invalid_argument, "a notebook without cells");

    if (auto const language = notebook_language(book);
        !any_language && !language.empty() && language != "python" && language != "Python" && language != "ipython")
        return failure(errc::invalid_argument,
                       "a notebook in " + language + ", and the kernel runs Python; choose its own with --kernel");

    std::vector<cell> cells;
    for (auto const& entry : book["cells"]) {
        if (!entry.is_object()) return failure(errc::invalid_argument, "a cell is not an object");
        if (entry.value("cell_type", nlohmann::json()) != "code") continue;
        auto source = notebook_source(entry);
        if (!source) return failure(source);
        if (!trimmed(*source).empty()) cells.push_back({std::move(*source)});
    }
    return cells;
}

} // namespace ipybox::cli
