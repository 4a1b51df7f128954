#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <CLI/Error.hpp>
#include <cli/run_options.hpp>
#include <cli/working_directory.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

using ipybox::cli::choose_working_directory;
using ipybox::cli::expand_directory;
using ipybox::cli::home_directory;

/// A home directory, which is that of the process while it lives.
class home_of_process {
  public:
    home_of_process() : before_(std::getenv("HOME") ? std::getenv("HOME") : "") {
        ::setenv("HOME", dir_.path().c_str(), 1);
    }
    ~home_of_process() { ::setenv("HOME", before_.c_str(), 1); }
    home_of_process(home_of_process const&) = delete;
    home_of_process& operator=(home_of_process const&) = delete;

    [[nodiscard]] std::filesystem::path const& path() const { return dir_.path(); }

  private:
    ipybox::test::scratch_dir dir_;
    std::string before_;
};

std::string expanded(std::string text) {
    auto const why = expand_directory(text);
    return why.empty() ? text : why;
}

} // namespace

TEST_CASE("working_directory: what a shell or a client would have expanded is expanded, or refused") {
    home_of_process const home;
    auto const at = home.path().string();
    for (auto const* text : {"~/ws", "$HOME/ws", "${HOME}/ws"}) CHECK(expanded(text) == at + "/ws");
    CHECK(expanded("~") == at);
    CHECK(expanded("file:///data/a%20b") == "/data/a b");
    CHECK(expanded("file://localhost/data") == "/data");
    for (auto const* text : {"work", "./~", "/data/$", "a$b", "/a/b c", "100%", ""}) CHECK(expanded(text) == text);
    for (auto const* text : {"~other/ws", "$PWD/ws", "${workspaceFolder}/scratch", "/a/$USER", "x${input:y}"}) {
        INFO(text);
        CHECK(expanded(text).find("which neither a shell nor the client has replaced") != std::string::npos);
    }
    for (auto const* text : {"file://host/data", "file:data"}) CHECK(expanded(text).starts_with("'file:"));
}

TEST_CASE("working_directory: one that is named like a variable and exists is meant") {
    ipybox::test::scratch_dir const dir;
    auto const named = dir.path() / "$NAME";
    std::filesystem::create_directory(named);
    CHECK(expanded(named.string()) == named.string());
}

TEST_CASE("working_directory: a home that is named needs an option, and the refusal names it") {
    home_of_process const home;
    for (auto const& named :
         {home.path(), home.path().parent_path(), home.path() / "x/..", std::filesystem::path("/")}) {
        INFO(named);
        CHECK_THROWS_WITH(choose_working_directory(named, "--workspace", home_directory::refused),
                          Catch::Matchers::Contains("add --allow-home"));
        CHECK(choose_working_directory(named, "--workspace", home_directory::allowed).path == named);
    }
    auto const below = home.path() / "below";
    CHECK(choose_working_directory(below, "--workspace", home_directory::refused).path == below);
}

TEST_CASE("working_directory: where none is named, the home becomes a fresh private one, with a notice") {
    home_of_process const home;
    auto const before = std::filesystem::current_path();
    std::filesystem::current_path(home.path());
    auto const chosen = choose_working_directory({}, "--workspace", home_directory::refused);
    std::filesystem::create_directory(home.path() / "project");
    std::filesystem::current_path(home.path() / "project");
    auto const project = choose_working_directory({}, "--workspace", home_directory::refused);
    std::filesystem::current_path(before);
    CHECK(std::filesystem::is_empty(chosen.path));
    auto const rights = std::filesystem::status(chosen.path).permissions();
    CHECK(rights == std::filesystem::perms::owner_all);
    CHECK(chosen.notice.find("the code works in " + chosen.path.string()) != std::string::npos);
    std::filesystem::remove(chosen.path);
    CHECK(project.path.filename() == "project");
    CHECK(project.notice.empty());
}
