#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/result.hpp>

#include <cli/cells.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::cli {

/**
 * \brief Reads of a notebook what is needed to run it.
 * \details Outputs and prose are passed over unread: Python writes NaN into them, and halves of surrogate pairs, which
 * are no JSON for others.
 */
class notebook_reader {
  public:
    explicit notebook_reader(std::string_view text) : cursor_(text) {}

    nlohmann::json format;
    nlohmann::json metadata;
    std::vector<nlohmann::json> cells; ///< type, source and metadata of each
    bool has_cells = false;

    /// False where the text is not JSON, or not an object.
    bool read() {
        bool const good = cursor_.peek() == '{' && cursor_.object([this](std::string const& name) {
            if (name == "nbformat") return cursor_.value(format);
            if (name == "metadata") return keep(metadata);
            if (name == "cells" && cursor_.peek() == '[') return read_cells();
            return pass();
        });
        return good && cursor_.finished();
    }

  private:
    bool pass() { return cursor_.skip(json_cursor::any_depth).has_value(); }

    /// The value, where it can be read: what widgets leave in metadata may be as odd as outputs are.
    bool keep(nlohmann::json& to) {
        auto const text = cursor_.skip(json_cursor::any_depth);
        if (text) to = read_json(*text).value_or(nlohmann::json());
        return text.has_value();
    }

    bool read_cells() {
        has_cells = true;
        return cursor_.array([this] {
            auto& cell = cells.emplace_back();
            if (cursor_.peek() != '{') return pass();
            cell = nlohmann::json::object();
            return cursor_.object([&](std::string const& name) {
                bool const is_needed = name == "cell_type" || name == "source" || name == "metadata";
                return is_needed ? keep(cell[name]) : pass();
            });
        });
    }

    json_cursor cursor_;
};

/// The source of a notebook cell: a string, or a list of strings; without one it is empty.
[[nodiscard]] inline result<std::string> notebook_source(nlohmann::json const& cell) {
    auto const source = cell.value("source", nlohmann::json());
    if (source.is_null()) return std::string();
    if (source.is_string()) return source.get<std::string>();
    std::string text;
    for (auto const& part : source) {
        if (!source.is_array() || !part.is_string())
            return failure(errc::invalid_argument, "the source of a cell is not text");
        text += part.get_ref<std::string const&>();
    }
    return text;
}

[[nodiscard]] inline bool has_tag(nlohmann::json const& cell, std::string_view tag) {
    nlohmann::json::json_pointer const place("/metadata/tags");
    if (!cell.contains(place)) return false;
    auto const& tags = cell[place];
    return tags.is_array() && std::ranges::find(tags, nlohmann::json(tag)) != tags.end();
}

/// A JSON object with the members that every notebook has, which no Python code of use is.
[[nodiscard]] inline bool looks_like_notebook(std::string_view text) {
    if (!trimmed(text).starts_with('{')) return false;
    notebook_reader book(trimmed(text));
    return book.read() && !book.format.is_null() && book.has_cells;
}

/// The language that a notebook says it is written in; empty where it says none.
[[nodiscard]] inline std::string notebook_language(nlohmann::json const& metadata) {
    for (auto const* const place : {"/kernelspec/language", "/language_info/name"}) {
        nlohmann::json::json_pointer const pointer(place);
        if (metadata.contains(pointer) && metadata[pointer].is_string()) return metadata[pointer].get<std::string>();
    }
    return {};
}

/// "python", "Python 3", "python3.11", "ipython": kernels do not agree on the word.
[[nodiscard]] inline bool is_python(std::string language) {
    std::ranges::transform(language, language.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    auto const last = language.find_last_not_of("0123456789. ");
    language.erase(last == std::string::npos ? 0 : last + 1);
    return language == "python" || language == "ipython";
}

/// Why a text is no JSON, as far as it can be told.
[[nodiscard]] inline std::string why_no_json(std::string_view text) {
    auto const begin = trimmed(text);
    if (begin.empty()) return "the file is empty";
    if (begin.starts_with("version https://git-lfs"))
        return "a pointer of Git LFS in the place of the notebook; `git lfs pull` fetches it";
    if (text.find("<<<<<<< ") != text.npos) return "it has the marks of a merge conflict (<<<<<<<); solve it first";
    if (begin.starts_with('<')) return "HTML or XML, not a notebook; the download may have been a page about it";
    try {
        auto const parsed = nlohmann::json::parse(text);
        if (parsed.is_discarded()) return "no valid JSON";
    } catch (nlohmann::json::parse_error const& error) { return "no valid JSON at byte " + std::to_string(error.byte); }
    return "JSON, but not a Jupyter notebook";
}

/**
 * \brief The code cells of a Jupyter notebook, blank ones and those that are tagged `skip-execution` left out.
 * \par Errors errc::invalid_argument — no JSON, no notebook, or not of format 4; the text says which
 */
[[nodiscard]] inline result<std::vector<cell>> read_notebook(std::string_view text, bool any_language = false) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    bool const is_in_conflict = text.find("\n<<<<<<< ") != text.npos;
    notebook_reader book(text);
    if (is_in_conflict || !book.read()) return failure(errc::invalid_argument, why_no_json(text));
    if (book.format.is_null()) return failure(errc::invalid_argument, "JSON, but not a Jupyter notebook");
    if (book.format != 4)
        return failure(errc::invalid_argument,
                       "a notebook of format " + book.format.dump() +
                           ", only format 4 is read; `jupyter nbconvert --to notebook` converts it");
    if (!book.has_cells) return failure(errc::invalid_argument, "a notebook without cells");

    if (auto const language = notebook_language(book.metadata);
        !any_language && !language.empty() && !is_python(language))
        return failure(errc::invalid_argument,
                       "a notebook in " + language + ", and the kernel runs Python; choose its own with --kernel");

    std::vector<cell> cells;
    for (auto const& entry : book.cells) {
        if (!entry.is_object()) return failure(errc::invalid_argument, "a cell is not an object");
        if (entry.value("cell_type", nlohmann::json()) != "code" || has_tag(entry, skip_execution)) continue;
        auto source = notebook_source(entry);
        if (!source) return failure(source);
        if (!trimmed(*source).empty()) cells.push_back({std::move(*source), {}, has_tag(entry, raises_exception)});
    }
    return cells;
}

} // namespace ipybox::cli
