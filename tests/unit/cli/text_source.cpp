#include <support/catch.hpp>

#include <cli/text_source.hpp>

#include <filesystem>
#include <fstream>
#include <string>

using ipybox::cli::find_invalid_utf8;
using ipybox::cli::read_cells;

namespace {

/// A file that is gone at the end of the test.
class temporary_file {
  public:
    temporary_file(std::string const& name, std::string const& text)
        : path_(std::filesystem::temp_directory_path() / ("ipybox-unit-" + name)) {
        std::ofstream(path_, std::ios::binary) << text;
    }
    temporary_file(temporary_file const&) = delete;
    temporary_file& operator=(temporary_file const&) = delete;
    ~temporary_file() { std::filesystem::remove(path_); }

    [[nodiscard]] std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("Code of the command line is cut like a file") {
    auto const cells = read_cells({{}, "a = 1\n# %% next\na"});
    REQUIRE(cells);
    REQUIRE(cells->size() == 2);
    CHECK((*cells)[1].title == "next");
}

TEST_CASE("Files of other systems are read") {
    temporary_file const file("bom.py", "\xEF\xBB\xBF# %%\r\n%cd x\r\n");
    auto const cells = read_cells({file.path(), {}});
    REQUIRE(cells);
    REQUIRE(cells->size() == 1);
    CHECK(cells->front().code == "%cd x\n");
}

TEST_CASE("What cannot be read is named") {
    temporary_file const latin("latin.py", "a = 1\nb = '\xE9'\n");
    CHECK(contains(read_cells({latin.path(), {}}).error().text(), "latin.py: not UTF-8: line 2"));
    CHECK(contains(read_cells({"/no/such.py", {}}).error().text(), "/no/such.py: No such file"));
    CHECK(contains(read_cells({"/", {}}).error().text(), "/: Is a directory"));
    CHECK(contains(read_cells({"", {}}).error().text(), "No such file"));

    temporary_file const book("bad.ipynb", "{}");
    CHECK(contains(read_cells({book.path(), {}}).error().text(), "bad.ipynb: JSON, but not a Jupyter notebook"));
}

TEST_CASE("UTF-8 is told from what is not") {
    auto const all_well = std::string::npos;
    CHECK(find_invalid_utf8("") == all_well);
    CHECK(find_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x7F") == all_well);
    CHECK(find_invalid_utf8("\xEF\xBF\xBF\xF4\x8F\xBF\xBF") == all_well);
    CHECK(find_invalid_utf8("ab\x80") == 2);
    CHECK(find_invalid_utf8("a\xC3") == 1);
    CHECK(find_invalid_utf8("\xC3(") == 0);
    CHECK(find_invalid_utf8("\xC0\xAF") == 0);         // overlong
    CHECK(find_invalid_utf8("\xE0\x80\xAF") == 0);     // overlong
    CHECK(find_invalid_utf8("\xF0\x80\x80\xAF") == 0); // overlong
    CHECK(find_invalid_utf8("\xED\xA0\x80") == 0);     // surrogate
    CHECK(find_invalid_utf8("\xF4\x90\x80\x80") == 0); // above U+10FFFF
    CHECK(find_invalid_utf8("\xFF") == 0);
}
