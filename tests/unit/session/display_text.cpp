#include <ipybox/execution/display_text.hpp>

#include <support/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

using ipybox::detail::display_text;

/// The text of a display with these representations.
std::string text_of(std::vector<std::pair<std::string, std::string>> const& representations) {
    ipybox::display shown;
    for (auto const& [type, text] : representations) shown.data.add({.type = type, .value = text});
    auto const* const text = display_text(shown);
    return text == nullptr ? "none" : *text;
}

} // namespace

TEST_CASE("display_text: what was displayed, where its text is the name of a class") {
    for (auto const* const kind : {"Markdown", "Latex", "JSON", "SVG"})
        for (auto const* const type : {"text/markdown", "text/latex", "application/json", "image/svg+xml"})
            CHECK(text_of({{"text/plain", "<IPython.core.display." + std::string(kind) + " object>"},
                           {type, "what it is"}}) == "what it is");
    CHECK(text_of({{"text/latex", "$x$"}}) == "$x$");
    CHECK(text_of({{"text/plain", "1"}, {"text/latex", "$1$"}}) == "1");
    CHECK(text_of({{"text/plain", "<IPython.core.display.HTML object>"}, {"text/html", "<b>"}}) ==
          "<IPython.core.display.HTML object>");
    CHECK(text_of({{"image/png", "x"}}) == "none");
}
