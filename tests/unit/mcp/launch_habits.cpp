#include <ipybox/mcp/launch_habits.hpp>

#include <support/catch.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace {

using ipybox::launch_spec;
using ipybox::mcp::habits_of;
namespace fs = std::filesystem;

/// A launch of what a line says, without quotes.
launch_spec launch_of_line(std::string const& line) {
    launch_spec launch;
    std::istringstream words(line);
    for (std::string word; words >> word;) launch.argv.push_back(word);
    launch.argv.front().insert(0, "/usr/bin/");
    return launch;
}

bool uses_directory(std::string const& line) { return habits_of(launch_of_line(line)).uses_directory; }

} // namespace

TEST_CASE("launch habits: a file that an interpreter is told to run leaves the directory alone") {
    for (auto const* line :
         {"python3 server.py", "python3.12 -u server.py -m x -c y", "python -Bu server.py",
          "python -W ignore -X dev s.py", "python -Wignore s.py", "python -P -m thing", "python -I -c pass",
          "python3 -Im thing", "python -uP -m thing", "pypy3 server.py", "node dist/index.js -e 1",
          "node --no-warnings --max-old-space-size=4096 index.js", "ruby -w server.rb", "perl server.pl",
          "java -jar server.jar", "java -server -jar server.jar"}) {
        INFO(line);
        CHECK_FALSE(uses_directory(line));
    }
}

TEST_CASE("launch habits: all else uses the directory it starts in") {
    for (auto const* line : {"python -m thing",
                             "python3 -c pass",
                             "python -um thing",
                             "python -mP",
                             "python -W ignore",
                             "python",
                             "python -",
                             "python --unknown server.py",
                             "python -i server.py",
                             "pythonista server.py",
                             "node",
                             "node -e 1",
                             "node -p 1",
                             "node --eval=1",
                             "node --require ./x.js index.js",
                             "node --import=./x.js index.js",
                             "node --env-file=.env a.js",
                             "node --run start",
                             "sh -c x",
                             "bash server.sh",
                             "npx thing",
                             "npm start",
                             "pnpm dlx thing",
                             "yarn start",
                             "uvx thing",
                             "uv run thing",
                             "poetry run thing",
                             "pdm run thing",
                             "pipx run thing",
                             "deno run a.ts",
                             "bun a.ts",
                             "go run .",
                             "cargo run",
                             "make serve",
                             "docker compose up",
                             "docker run thing",
                             "java Main",
                             "java -cp app.jar Main",
                             "ruby -I lib s.rb",
                             "perl -Ilib s.pl",
                             "unknown server.py",
                             "env python3 server.py"}) {
        INFO(line);
        CHECK(uses_directory(line));
    }
}

TEST_CASE("launch habits: a variable isolates Python, unless an option ignores it") {
    auto launch = launch_of_line("python3 -m thing");
    launch.env["PYTHONSAFEPATH"] = "1";
    CHECK_FALSE(habits_of(launch).uses_directory);
    launch.env["PYTHONSAFEPATH"] = "";
    CHECK(habits_of(launch).uses_directory);
    for (auto const* line : {"python3 -E -m thing", "python3 -uE -m thing", "node -e 1"}) {
        launch = launch_of_line(line);
        launch.env["PYTHONSAFEPATH"] = "1";
        INFO(line);
        CHECK(habits_of(launch).uses_directory);
    }
}

TEST_CASE("launch habits: what is installed in the home directory") {
    auto launch = launch_of_line("uvx thing");
    CHECK(habits_of(launch).stores.empty());
    launch.env["HOME"] = "/home/ann";
    CHECK(habits_of(launch).stores == std::vector<fs::path>{"/home/ann/.cache/uv", "/home/ann/.local/share/uv"});
}
