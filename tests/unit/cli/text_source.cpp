#include <support/catch.hpp>

#include <cli/text_source.hpp>

#include <filesystem>
#include <fstream>
#include <string>

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
