#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>
#include <support/skip.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "run.hpp"

/** \file
 * bubblewrap_sandbox with configurations: what a shell inside can do.
 */

namespace {

using ipybox::sandbox_config;

/// A home with a project, for a sandbox with a configuration.
class configured {
  public:
    explicit configured(std::string_view config = "{}", fs::path const& below = "/tmp") : dir_(below) {
        fs::create_directories(work());
        ::setenv("HOME", home().c_str(), 1);
        ::setenv("XDG_STATE_HOME", (home() / "state").c_str(), 1);
        auto read = sandbox_config::parse(config);
        INFO((read ? std::string() : read.error().text()));
        REQUIRE(read);
        config_ = *std::move(read);
    }
    configured(configured const&) = delete;
    configured& operator=(configured const&) = delete;
    ~configured() {
        ::setenv("HOME", old_home_.c_str(), 1);
        ::unsetenv("XDG_STATE_HOME");
    }

    fs::path home() const { return dir_.path() / "home"; }
    fs::path work() const { return home() / "work"; }

    void write(std::string const& file, std::string_view text = "text") const {
        auto const path = (work() / file).lexically_normal();
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }

    sandbox_test::outcome run(std::string const& command) const {
        return run_wrapped(shell(command, work()), bubblewrap_sandbox{config_});
    }

    std::string output(std::string const& command) const { return run(command).output; }

    /// Each path with what can be done with it: "r", "w", "rw", or "-".
    std::string rights(std::string const& paths) const {
        return output(
            "for p in " + paths +
            "; do d=-; if [ -d $p ]; then ls -A $p 2>/dev/null | grep -q . && d=r; (: > $p/new) 2>/dev/null && "
            "d=${d#-}w; "
            "else (exec < $p) 2>/dev/null && head -c1 $p | grep -q . && d=r; (: >> $p) 2>/dev/null && d=${d#-}w; fi; "
            "echo $p $d; done");
    }

    ipybox::result<ipybox::sandbox_config::description> describe() const {
        return bubblewrap_sandbox{config_}.describe(work());
    }

    std::string problem() const {
        auto const wrapped = bubblewrap_sandbox{config_}.wrap(shell("true", work()));
        return wrapped ? "" : wrapped.error().text();
    }

  private:
    std::string old_home_ = std::getenv("HOME") ? std::getenv("HOME") : "/";
    scratch_dir dir_;
    sandbox_config config_;
};

} // namespace

TEST_CASE("configured: by default secrets cannot be read, and everything else of the project can be written") {
    NEEDS_BUBBLEWRAP();
    configured const box;
    for (auto const* file : {"x", ".env", "sub/.env", "../.ssh/id"}) box.write(file);
    CHECK(box.rights("x .env sub/.env sub ../.ssh/id") == "x rw\n.env -\nsub/.env -\nsub rw\n../.ssh/id -\n");
    auto const moved =
        box.run("mv .env e || rm -f .env || ln .env e || cp .env e || mv sub s || cat /proc/self/root$PWD/.env");
    CHECK(moved.code != 0);
    CHECK(moved.output.find("text") == std::string::npos);
    CHECK(fs::file_size(box.work() / ".env") == 4);
}

TEST_CASE("configured: what a launch has closed, and does not exist, cannot be made while it runs") {
    NEEDS_BUBBLEWRAP();
    configured const box;
    auto spec =
        shell("for p in server.sh lib/x .env keys/token; do mkdir -p ${p%/*}; echo evil > $p; done 2> /dev/null; "
              "mv lib l; mv server.sh s; rm -rf keys .env; cat .env; ls -A lib keys; [ -f server.sh ] && echo empty",
              box.work());
    spec.read_only = {box.work() / "server.sh", box.work() / "lib/", box.home() / "elsewhere"};
    spec.hidden = {box.work() / ".env", box.work() / "keys/token"};
    auto const outcome = run_wrapped(std::move(spec), bubblewrap_sandbox{});
    CHECK(outcome.output.find("evil") == std::string::npos);
    CHECK(outcome.output.find("keys:\n\nlib:\nempty") != std::string::npos);
    for (auto const* made : {"server.sh", "lib", ".env", "keys", "l", "s"}) CHECK_FALSE(fs::exists(box.work() / made));
}

TEST_CASE("configured: a home outside of the private directories keeps its secrets, too") {
    NEEDS_BUBBLEWRAP();
    NEEDS_OPEN_DIRECTORY();
    configured const box("{}", open_directory());
    for (auto const* file : {"../.ssh/id", "../.netrc", "../notes"}) box.write(file);
    CHECK(box.rights("../.netrc ../.ssh ../.ssh/id ../notes") == "../.netrc -\n../.ssh -\n../.ssh/id -\n../notes r\n");
}

TEST_CASE("configured: denied directories are closed, and what is allowed within is open again") {
    NEEDS_BUBBLEWRAP();
    for (auto const& below : {fs::path("/tmp"), open_directory()}) {
        if (below.empty()) continue;
        configured const box(
            R"({"filesystem": {"denyRead": ["secret", "keys/*.pem", "~/private"], "allowRead": ["secret/public"],
                                 "allowWrite": [".", "~/private/out"]}})",
            below);
        for (auto const* file :
             {"secret/x", "secret/public/x", "keys/a.pem", "keys/a.pub", "../private/x", "../private/out/x"})
            box.write(file);
        INFO(below);
        CHECK(box.rights("secret/x secret/public/x keys/a.pem keys/a.pub ../private/out/x") ==
              "secret/x -\nsecret/public/x r\nkeys/a.pem -\nkeys/a.pub rw\n../private/out/x rw\n");
        CHECK(box.run("cat ../private/x").code != 0);
        CHECK(box.output("ls -A secret; : > secret/new || echo refused").find("public\n") == 0);
        CHECK_FALSE(fs::exists(box.work() / "secret/new"));
    }
}

TEST_CASE("configured: the innermost rule counts, however they are nested") {
    NEEDS_BUBBLEWRAP();
    for (auto const& below : {fs::path("/tmp"), open_directory()}) {
        if (below.empty()) continue;
        configured const box(
            R"({"filesystem": {"denyRead": ["..", "a", "a/b/c", "a/b/c/d/e"], "allowRead": ["a/b", "a/b/c/d"],
                                 "allowWrite": ["a/b/w"]}})",
            below);
        for (auto const* file : {"x", "a/x", "a/b/x", "a/b/c/x", "a/b/c/d/x", "a/b/c/d/e/x", "a/b/w/x", "../x"})
            box.write(file);
        INFO(below);
        CHECK(box.rights("x a/x a/b/x a/b/c/x a/b/c/d/x a/b/c/d/e/x a/b/w/x") ==
              "x r\na/x -\na/b/x r\na/b/c/x -\na/b/c/d/x r\na/b/c/d/e/x -\na/b/w/x rw\n");
        CHECK(box.run("cat ../x").code != 0);
    }
}

TEST_CASE("configured: only what is allowed can be written, and not what is denied within") {
    NEEDS_BUBBLEWRAP();
    configured const box(
        R"({"filesystem": {"allowWrite": ["out", "../more"], "denyWrite": ["out/keep", "out/*.lock"]}})");
    for (auto const* file : {"x", "out/x", "out/keep/x", "out/a.lock", "../more/x"}) box.write(file);
    CHECK(box.rights("x . out out/x out/keep/x out/a.lock ../more") ==
          "x r\n. r\nout rw\nout/x rw\nout/keep/x r\nout/a.lock r\n../more rw\n");
    CHECK(box.run("mv out/keep out/k || rm -rf out/keep || rm -f out/a.lock").code != 0);
    CHECK(fs::exists(box.work() / "out/keep/x"));
    CHECK_FALSE(fs::exists(box.work() / ".git")); // nothing can be made there anyway
}

TEST_CASE("configured: a working directory that is not allowed can be read") {
    NEEDS_BUBBLEWRAP();
    configured const box(R"({"filesystem": {"allowWrite": []}})");
    box.write("x");
    CHECK(box.rights("x .") == "x r\n. r\n");
    configured const denied(R"({"filesystem": {"denyWrite": ["."]}})");
    denied.write("x");
    CHECK(denied.rights("x .") == "x r\n. r\n");
}

TEST_CASE("configured: what decides about other programs cannot be changed or made") {
    NEEDS_BUBBLEWRAP();
    for (auto const& below : {fs::path("/tmp"), open_directory()}) {
        if (below.empty()) continue;
        configured const box("{}", below);
        for (auto const* file :
             {".git/hooks/pre-commit", ".git/config", ".git/HEAD", "sub/.bashrc", "sub/repo/.git/config",
              ".git/modules/m/HEAD", ".husky/pre-commit", ".github/workflows/ci.yml"})
            box.write(file);
        INFO(below);
        for (auto const* path :
             {".envrc", ".mcp.json", ".vscode/tasks.json", ".claude/commands/x", ".git/hooks/pre-commit",
              ".git/hooks/new", ".git/commondir", ".git/config", ".git/config.worktree", ".git/info/attributes",
              "sub/.bashrc", "sub/repo/.git/config", "sub/repo/.git/hooks/x", ".git/modules/m/hooks/x",
              ".git/modules/m/config", ".husky/pre-commit", ".github/workflows/new.yml", ".claude/settings.local.json",
              ".cursor/mcp.json"}) {
            INFO(path);
            CHECK(box.run("mkdir -p $(dirname " + std::string(path) + "); echo evil > " + path).code != 0);
        }
        for (auto const* trick :
             {"mv .git g", "rm -rf .git/hooks", "mv sub/repo r", "mv sub s", "rm -f .envrc && touch .envrc",
              "mv .envrc e", "rmdir .vscode", "mv .vscode v", "mv .github g", "mv .git/modules m"}) {
            INFO(trick);
            CHECK(box.run(trick).code != 0);
        }
        CHECK(box.run("echo x > .git/index && mv .git/index .git/i && touch a && ln a sub/b && mv a sub/a && "
                      "touch .git/modules/m/index")
                  .code == 0);
        CHECK(box.run("python3 -c 'import os; open(\"r\", \"w\"); os.rename(\"r\", \"sub/repo/r\")'").code ==
              0); // one file system
        for (auto const* none : {".envrc", ".vscode", ".claude", ".git/modules/m/hooks", ".git/commondir"})
            CHECK_FALSE(fs::exists(box.work() / none));
    }
}

TEST_CASE("configured: what is closed is closed by the name of a private link to the working directory, too") {
    NEEDS_BUBBLEWRAP();
    auto const below = open_directory();
    if (below.empty()) return;
    configured const box("{}", below);
    for (auto const* file : {".git/hooks/pre-commit", ".git/HEAD", ".env", "sub/.env"}) box.write(file);
    scratch_dir const links; // below /tmp: the path as it was given gets a mount of its own
    auto const link = links.path() / "link";
    fs::create_directory_symlink(box.work(), link);
    auto const script = "cd " + link.string() +
                        " && touch made && for f in .env sub/.env .git/hooks/pre-commit; do echo evil >> $f; done; "
                        "mv .git g; echo x > .envrc; cat .env sub/.env";
    auto const wrapped = bubblewrap_sandbox{}.wrap(shell(script, link));
    REQUIRE(wrapped);
    CHECK(sandbox_test::run(*wrapped).output.find("text") == std::string::npos);
    CHECK(fs::exists(box.work() / "made"));
    for (auto const* file : {".git/hooks/pre-commit", ".env", "sub/.env"}) {
        INFO(file);
        CHECK(ipybox::test::read_file(box.work() / file) == "text");
    }
    CHECK_FALSE(fs::exists(box.work() / "g"));
}

TEST_CASE("configured: what must not be read is closed where it comes later, too") {
    NEEDS_BUBBLEWRAP();
    configured const box(R"({"filesystem": {"denyRead": ["secret", "keys/"]}})");
    CHECK(box.run("echo x > secret || mkdir keys/x || test -w keys").code != 0);
    auto const later =
        bubblewrap_sandbox(*ipybox::sandbox_config::parse(R"({"filesystem": {"denyRead": ["secret", "keys/"]}})"))
            .wrap(shell("cat secret keys/x; echo end", box.work()));
    REQUIRE(later);
    box.write("secret");
    box.write("keys/x");
    CHECK(sandbox_test::run(*later).output.find("text") == std::string::npos);
}

TEST_CASE("configured: a repository cannot be made where there is none") {
    NEEDS_BUBBLEWRAP();
    configured const box;
    CHECK(box.run("mkdir .git || rm -rf .git && mkdir .git/hooks").code != 0);
    CHECK(box.run("mv .git g || rmdir .git && mkdir .git && touch .git/config").code != 0);
    CHECK_FALSE(fs::exists(box.work() / ".git"));
}

TEST_CASE("configured: two sandboxes of one directory share its placeholders") {
    NEEDS_BUBBLEWRAP();
    configured const box;
    auto first = bubblewrap_sandbox{}.wrap(shell("true", box.work()));
    auto const second =
        bubblewrap_sandbox{}.wrap(shell("mkdir .git/hooks || echo x > .envrc || echo refused", box.work()));
    REQUIRE(first);
    REQUIRE(second);
    first->keeps.reset();
    CHECK(fs::exists(box.work() / ".git"));
    CHECK(fs::is_empty(box.work() / ".git"));
    auto const seen = sandbox_test::run(*second);
    CHECK(seen.output.ends_with("refused\n"));
}

TEST_CASE("configured: the journal of placeholders is closed, also in a home that can be written to") {
    NEEDS_BUBBLEWRAP();
    configured const box(R"({"filesystem": {"allowWrite": ["~"]}})");
    CHECK(box.run("touch ../x").code == 0);
    CHECK(box.run("touch ../state/ipybox/placeholders/x").code != 0);
    CHECK(box.output("ls -A ../state/ipybox/placeholders").empty());
    CHECK(fs::exists(box.work() / "../state/ipybox/placeholders/lock"));
    CHECK(box.run("mv ../state ../s").code != 0);
    CHECK(box.run("touch ../.ipython/x").code != 0);
}

TEST_CASE("configured: variables that are hidden are not in the environment") {
    NEEDS_BUBBLEWRAP();
    configured const box(R"({"credentials": {"envVars": [{"name": "MARK", "mode": "deny"}]}})");
    CHECK(box.output("echo [$MARK]") == "[]\n");
}

TEST_CASE("configured: Unix sockets and user namespaces can be allowed") {
    NEEDS_BUBBLEWRAP();
    auto const* socket = "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'";
    CHECK(configured().run(socket).code != 0);
    CHECK(configured(R"({"network": {"allowAllUnixSockets": true}})").run(socket).code == 0);
    CHECK(configured().run("unshare --user true").code != 0);
    CHECK(configured(R"({"allowNestedUserNamespaces": true})").run("unshare --user true").code == 0);
}

TEST_CASE("configured: what cannot be enforced is refused by name, with what to do") {
    CHECK(configured(R"({"network": {"allowedDomains": ["a.test"], "parentProxy": {"http": "socks5://p.test:1"}}})")
              .problem()
              .find("the proxy of the network must be a URL as http://proxy.example:3128") != std::string::npos);
    CHECK(configured(R"({"network": {"allowedDomains": ["a.test"], "parentProxy": {"http": "http://p.test:1"},
                         "deniedResolvedAddresses": ["8.8.8.8"]}})")
              .problem()
              .find("network/deniedResolvedAddresses, which bubblewrap_sandbox cannot enforce: the proxy of") !=
          std::string::npos);
    CHECK(configured(R"({"network": {"allowUnixSockets": ["/run/x"]}})")
              .problem()
              .find("network/allowUnixSockets, which bubblewrap_sandbox cannot enforce") != std::string::npos);
    CHECK(configured(R"({"network": {"deniedDomains": ["*"]}, "filesystem": {"allowWrite": ["/tmp"]}})")
              .problem()
              .find("the allowWrite path /tmp would open what the sandbox closes") != std::string::npos);
    CHECK(configured(R"({"filesystem": {"denyRead": ["."]}})").problem().find("the working directory itself") !=
          std::string::npos);
}

TEST_CASE("configured: a description says what a configuration means here") {
    configured const box(
        R"({"allowPty": true, "filesystem": {"denyRead": ["**/.env", "nothing"], "allowWrite": [".", "none"]}})");
    box.write("sub/.env");
    auto const seen = box.describe();
    REQUIRE(seen);
    auto const work = fs::canonical(box.work());
    CHECK(seen->writable == std::vector<fs::path>{work});
    CHECK(seen->masked == std::vector<fs::path>{work / "sub/.env"});
    CHECK(std::find(seen->read_only.begin(), seen->read_only.end(), work / "nothing") != seen->read_only.end());
    CHECK(std::find(seen->read_only.begin(), seen->read_only.end(), work / ".envrc") != seen->read_only.end());
    CHECK(seen->notices ==
          std::vector<std::string>{"allowPty is meant for macOS", "allowWrite none has no effect: it does not exist"});
    auto const text = seen->text();
    CHECK(text.starts_with("writable: " + work.string() + "\nread-only within: "));
    CHECK(text.find("not readable: " + (work / "sub/.env").string() + "\n") != std::string::npos);
    CHECK(text.find("hosts: none\n") != std::string::npos);
    CHECK(text.ends_with("notice: allowWrite none has no effect: it does not exist\n"));
    configured const open(R"({"network": {"allowedDomains": ["a.test", "*.b.test:443"]}})");
    auto const hosts = open.describe().value();
    CHECK(hosts.hosts == std::vector<std::string>{"a.test", "*.b.test:443"});
    CHECK(hosts.text().find("hosts: a.test *.b.test:443\nother hosts: are asked for\n") != std::string::npos);
    CHECK(fs::is_directory(box.work()));
    CHECK_FALSE(fs::exists(box.work() / ".envrc")); // nothing is made for a description
}
