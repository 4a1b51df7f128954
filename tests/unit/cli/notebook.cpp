#include <support/catch.hpp>

#include <cli/notebook.hpp>

#include <string>
#include <vector>

using ipybox::cli::read_notebook;

namespace {

bool fails_with(std::string_view part, std::string_view text) {
    auto const cells = read_notebook(text);
    return !cells && cells.error().text().find(part) != std::string::npos;
}

} // namespace

TEST_CASE("Code cells of a notebook, source as text or as lines") {
    auto const cells = read_notebook(R"({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "markdown", "source": "# Title"},
        {"cell_type": "code", "source": "a = 1"},
        {"cell_type": "code", "source": ["b = 2\n", "b"]},
        {"cell_type": "raw", "source": []},
        {"cell_type": "code", "source": []},
        {"cell_type": "code", "source": " \n"}]})");
    REQUIRE(cells);
    REQUIRE(cells->size() == 2);
    CHECK((*cells)[0].code == "a = 1");
    CHECK((*cells)[1].code == "b = 2\nb");
}

TEST_CASE("The marker means nothing in a notebook") {
    auto const cells = read_notebook(R"({"nbformat": 4, "cells": [{"cell_type": "code", "source": "a\n# %%\nb"}]})");
    REQUIRE(cells);
    CHECK(cells->size() == 1);
}

TEST_CASE("What is no notebook is named") {
    CHECK(fails_with("JSON", "print(1)"));
    CHECK(fails_with("not a Jupyter notebook", "[]"));
    CHECK(fails_with("not a Jupyter notebook", "{}"));
    CHECK(fails_with("format 3", R"({"nbformat": 3, "worksheets": []})"));
    CHECK(fails_with("format \"4\"", R"({"nbformat": "4"})"));
    CHECK(fails_with("without cells", R"({"nbformat": 4})"));
    CHECK(fails_with("not an object", R"({"nbformat": 4, "cells": [1]})"));
    CHECK(fails_with("no source", R"({"nbformat": 4, "cells": [{"cell_type": "code"}]})"));
    CHECK(fails_with("not text", R"({"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]})"));
}
