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
    CHECK(fails_with("not text", R"({"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]})"));
    CHECK(fails_with("not text", R"({"nbformat": 4, "cells": [{"cell_type": "code", "source": 7}]})"));
    CHECK(fails_with("no valid JSON at byte 3", R"({"nbformat": 4, "cells": [], })"));
    CHECK(fails_with("empty", " \n"));
    CHECK(fails_with("git lfs pull", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"));
    CHECK(fails_with("HTML", "<!DOCTYPE html><html></html>"));
    CHECK(fails_with("merge conflict", "{\n<<<<<<< HEAD\n \"nbformat\": 4, \"cells\": []}"));
    CHECK(fails_with("merge conflict", "{\"nbformat\": 4, \"cells\": [], \"x\": [\n<<<<<<< HEAD\n1\n=======\n]}"));
}

TEST_CASE("Notebooks that Jupyter reads") {
    auto const one_cell = [](std::string_view text) {
        auto const cells = read_notebook(text);
        REQUIRE(cells);
        REQUIRE(cells->size() == 1);
        return cells->front().code;
    };
    auto const deep = std::string(5000, '[') + std::string(5000, ']');
    for (auto const& output : {std::string("NaN"), std::string("-Infinity"), std::string(R"("\ud800")"), deep})
        CHECK(one_cell(R"({"nbformat": 4, "metadata": {"widgets": NaN}, "cells": [{"cell_type": "code", "source": "a",
            "metadata": {}, "outputs": [{"data": {"application/json": )" +
                       output + "}}]}]}") == "a");
    CHECK(one_cell(R"({"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "\ud800"},
        {"cell_type": "code", "source": "a"}]})") == "a");
    CHECK(one_cell("\xEF\xBB\xBF"
                   R"({"nbformat": 4.0, "cells": [{"cell_type": "code", "source": "a"}]})") == "a");
    CHECK(one_cell(R"({"nbformat": 4, "cells": [{"cell_type": "code", "source": null}, {"cell_type": "code"},
        {"cell_type": "code", "source": "a"}]})") == "a");
    for (auto const* const language : {"python3", "Python 3", "ipython", "Python 3.11"})
        CHECK(one_cell(R"({"nbformat": 4, "metadata": {"language_info": {"name": ")" + std::string(language) +
                       R"("}}, "cells": [{"cell_type": "code", "source": "a"}]})") == "a");
    CHECK(fails_with("in julia", R"({"nbformat": 4, "metadata": {"kernelspec": {"language": "julia"}}, "cells": []})"));
}

TEST_CASE("Tags of notebook cells") {
    auto const cells = read_notebook(R"({"nbformat": 4, "cells": [
        {"cell_type": "code", "source": "a", "metadata": {"tags": ["x", "raises-exception"]}},
        {"cell_type": "code", "source": "b", "metadata": {"tags": ["skip-execution"]}},
        {"cell_type": "code", "source": "c", "metadata": {"tags": "raises-exception"}},
        {"cell_type": "code", "source": "d", "metadata": null}]})");
    REQUIRE(cells);
    REQUIRE(cells->size() == 3);
    CHECK((*cells)[0].may_raise);
    CHECK((*cells)[1].code == "c");
    CHECK_FALSE((*cells)[1].may_raise);
    CHECK_FALSE((*cells)[2].may_raise);
}
