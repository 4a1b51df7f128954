#include <ipybox/sandbox/srt_command.hpp>
#include <ipybox/sandbox/srt_preflight.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>
#include <ipybox/sandbox/srt_settings.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run.hpp"

/** \file
 * What srt_sandbox hands to srt: command line, settings, environment. The programs that srt needs are real, srt is a
 * stand-in.
 */

namespace {

namespace fs = std::filesystem;
using ipybox::errc;
using ipybox::launch_spec;
using ipybox::sandbox_config;
using ipybox::srt_sandbox;
using ipybox::system_access;
using ipybox::detail::srt_additions;
using ipybox::detail::srt_command;
using ipybox::detail::srt_settings;
using ipybox::detail::srt_system;
using nlohmann::json;

void make_program(fs::path const& path, std::string_view body) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n" << body << '\n';
    fs::permissions(path, fs::perms::owner_all);
}

ipybox::os::host_programs programs_on(std::string const& path) {
    return ipybox::os::host_programs(ipybox::os::host_environment({{"PATH", path}}, "/"));
}

/// Sets a variable of the environment for a while.
class with_variable {
  public:
    with_variable(std::string name, std::string const& value) : name_(std::move(name)) {
        if (auto const* before = std::getenv(name_.c_str())) before_ = before;
        ::setenv(name_.c_str(), value.c_str(), 1);
    }
    with_variable(with_variable const&) = delete;
    with_variable& operator=(with_variable const&) = delete;
    ~with_variable() {
        if (before_)
            ::setenv(name_.c_str(), before_->c_str(), 1);
        else
            ::unsetenv(name_.c_str());
    }

  private:
    std::string name_;
    std::optional<std::string> before_;
};

std::string path_of_tests() { return std::getenv("PATH"); }

/// A home with a project and with an srt that only knows its version.
struct place {
    ipybox::test::scratch_dir dir;
    fs::path home = dir.path() / "home";
    fs::path work = home / "work";
    fs::path srt = dir.path() / "lib/node_modules/.bin/srt";
    with_variable home_variable{"HOME", home.string()};
    with_variable state_variable{"XDG_STATE_HOME", (dir.path() / "state").string()};

    place() {
        fs::create_directories(work);
        make_program(srt, "echo 0.0.83");
    }

    [[nodiscard]] launch_spec spec() const {
        return {.argv = {"/usr/bin/python3", "-c", "it's"}, .env = {{"PATH", "/bin"}}, .working_dir = work};
    }

    [[nodiscard]] srt_sandbox sandbox(std::string_view config = "{}") const {
        return srt_sandbox(*sandbox_config::parse(config), {.program = srt});
    }
};

launch_spec wrapped(srt_sandbox const& sandbox, launch_spec spec) {
    auto done = sandbox.wrap(std::move(spec));
    INFO((done ? std::string() : done.error().text()));
    REQUIRE(done);
    return *std::move(done);
}

ipybox::error refusal(srt_sandbox const& sandbox, launch_spec spec) {
    auto const done = sandbox.wrap(std::move(spec));
    REQUIRE_FALSE(done);
    return done.error();
}

json settings_of(launch_spec const& spec) { return json::parse(spec.inputs.at(3)); }

/// Whether a list of the settings has a path as it is.
bool has(json const& settings, std::string const& list, fs::path const& path) {
    json const entry{{"path", path.string()}, {"literal", true}};
    auto const& entries = settings.at("filesystem").at(list);
    return std::find(entries.begin(), entries.end(), entry) != entries.end();
}

json with_additions(std::string_view document, srt_additions const& more) {
    auto const text = srt_settings(document, "s.json", more);
    INFO((text ? std::string() : text.error().text()));
    REQUIRE(text);
    return json::parse(*text);
}

std::string settings_problem(std::string_view document, srt_additions const& more = {}) {
    auto const text = srt_settings(document, "s.json", more);
    return text ? "" : text.error().text();
}

} // namespace

TEST_CASE("srt: the command line, on Linux as on macOS") {
    auto const command = srt_command({.srt = "/opt/srt",
                                      .settings_fd = 4,
                                      .private_dir = "/tmp/ipybox-srt-x",
                                      .control_fd = 3,
                                      .path = "/a:/b",
                                      .home = "/home/u"},
                                     {"/usr/bin/python3", "-c", "it's"});
    CHECK(command == std::vector<std::string>{
                         "/bin/sh", "-c", R"(dir=$1; shift; "$@"; status=$?; rm -rf -- "$dir"; exit "$status")", "sh",
                         "/tmp/ipybox-srt-x", "/opt/srt", "--settings", "/dev/fd/4", "--", "/bin/sh", "-c",
                         R"(exec 3>&1 1>/dev/null; PATH=$1; export PATH; HOME=$2; export HOME; shift 2; exec "$@")",
                         "sh", "/a:/b", "/home/u", "/usr/bin/python3", "-c", "it's"});
}

TEST_CASE("srt: a program without PATH and HOME gets none") {
    auto const command = srt_command({.srt = "/opt/srt", .private_dir = "/d", .control_fd = 7}, {"/bin/true"});
    CHECK(std::ranges::find(command, R"(exec 7>&1 1>/dev/null; unset PATH; unset HOME; shift 2; exec "$@")") !=
          command.end());
}

TEST_CASE("srt: what it needs is told by system, with the packages") {
    using ipybox::detail::check_srt_needs;
    ipybox::test::scratch_dir const dir;
    make_program(dir.path() / "node", "");
    CHECK(check_srt_needs(srt_system::on_macos, programs_on(dir.path().native())));
    auto const gap = check_srt_needs(srt_system::on_linux, programs_on(dir.path().native()));
    REQUIRE_FALSE(gap);
    CHECK(gap.error() == errc::sandbox_unavailable);
    CHECK(gap.error().text().starts_with("srt needs programs that are not on PATH: bwrap, rg, socat, bash. Install "
                                         "them: apt-get install bubblewrap ripgrep socat bash."));
    CHECK(check_srt_needs(srt_system::on_linux, programs_on(path_of_tests())));
}

TEST_CASE("srt: versions before 0.0.83 are refused, later ones are not") {
    using ipybox::detail::check_srt_version;
    CHECK(check_srt_version("0.0.83\n"));
    CHECK(check_srt_version("0.1.0"));
    CHECK(check_srt_version("1.0.0-beta.1\n"));
    CHECK(check_srt_version("0.0.19\n").error().text().starts_with("srt 0.0.19 is too old; install 0.0.83 or newer"));
    for (auto const* said : {"", "env: 'node': No such file or directory", "1.2", "v1"}) {
        auto const known = check_srt_version(said);
        INFO(said);
        REQUIRE_FALSE(known);
        CHECK(known.error() == errc::sandbox_unavailable);
        CHECK(known.error().text().find("Node.js 22.12") != std::string::npos);
    }
}

TEST_CASE("srt: one that is missing is told with the command that installs it") {
    place const here;
    with_variable const path("PATH", "/not-there");
    auto const why = refusal(srt_sandbox(), here.spec());
    CHECK(why == errc::sandbox_unavailable);
    CHECK(
        why.text().starts_with("sandbox-runtime is not installed: there is no srt on PATH. Install it: npm install -g "
                               "@anthropic-ai/sandbox-runtime@0.0.83."));
    CHECK(refusal(srt_sandbox({.program = "/not-there/srt"}), here.spec())
              .text()
              .starts_with("the srt program /not-there/srt is not there"));
    CHECK(refusal(srt_sandbox({.program = "srt"}), here.spec()) == errc::invalid_argument);
}

TEST_CASE("srt: one that does not answer is told of, within the bound") {
    place const here;
    make_program(here.srt, "sleep 60");
    auto const works =
        ipybox::detail::srt_preflight(here.srt, {}, programs_on(path_of_tests()), std::chrono::milliseconds(100));
    REQUIRE_FALSE(works);
    CHECK(works.error() == errc::sandbox_unavailable);
    CHECK(works.error().text().find("did not end within 100 ms") != std::string::npos);
}

TEST_CASE("srt: success is remembered, failure is not") {
    place const here;
    make_program(here.srt, "echo 0.0.1");
    CHECK(refusal(here.sandbox(), here.spec()).text().starts_with("srt 0.0.1 is too old"));
    make_program(here.srt, "echo 0.0.83; echo . >>" + (here.dir.path() / "asked").string());
    CHECK(here.sandbox().wrap(here.spec()));
    CHECK(here.sandbox().wrap(here.spec()));
    CHECK(fs::file_size(here.dir.path() / "asked") == 2);
}

TEST_CASE("srt: the launch has another control descriptor, and the environment of srt") {
    place const here;
    auto spec = here.spec();
    spec.env["HOME"] = "/elsewhere";
    spec.sandbox_variables = {"OWN"};
    auto const launch = wrapped(here.sandbox(), spec);
    CHECK(launch.sandbox_variables.front() == "OWN");
    CHECK(launch.control_fd == 1);
    CHECK_FALSE(launch.first_in_namespace);
    CHECK(launch.env.at("HOME") == here.home.string());
    CHECK(launch.env.at("PATH") == path_of_tests());
    CHECK(launch.env.at("CLAUDE_CODE_TMPDIR") == launch.env.at("TMPDIR") + "/code");
    std::vector<std::string> const inside(launch.argv.end() - 5, launch.argv.end());
    CHECK(inside == std::vector<std::string>{"/bin", "/elsewhere", "/usr/bin/python3", "-c", "it's"});
    CHECK(std::ranges::find(launch.sandbox_variables, "TMPDIR") != launch.sandbox_variables.end());
}

TEST_CASE("srt: what a launch holds goes with it") {
    place const here;
    auto launch = wrapped(here.sandbox(), here.spec());
    fs::path const directory = launch.env.at("TMPDIR");
    struct ::stat status{};
    REQUIRE(::stat(directory.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    CHECK(fs::exists(here.work / ".bashrc"));
    launch.keeps.reset();
    CHECK_FALSE(fs::exists(directory));
    CHECK(fs::is_empty(here.work));
}

TEST_CASE("srt: a launch closes and opens paths") {
    place const here;
    auto const file = [&here](std::string const& name) {
        fs::create_directories((here.home / name).parent_path());
        std::ofstream(here.home / name) << "text";
        return here.home / name;
    };
    auto spec = here.spec();
    spec.writable = {here.home / "data"};
    fs::create_directory(here.home / "data");
    spec.read_only = {file("work/rules.json"), here.home / "work/missing", here.work, here.home};
    spec.readable = {file("work/venv/bin/python").parent_path().parent_path(), file("secret/lib").parent_path()};
    spec.hidden = {file("work/servers.json"), here.work / "later.env"};
    auto const launch = wrapped(here.sandbox(R"({"filesystem": {"denyRead": ["~/secret"]}})"), spec);
    auto const settings = settings_of(launch);
    CHECK(has(settings, "allowWrite", here.home / "data"));
    CHECK(has(settings, "allowWrite", launch.env.at("CLAUDE_CODE_TMPDIR")));
    CHECK(has(settings, "denyWrite", here.work / "rules.json"));
    CHECK(has(settings, "denyWrite", here.work / "venv"));
    CHECK(has(settings, "denyWrite", here.work / ".envrc"));
    CHECK(has(settings, "denyWrite", here.dir.path() / "state/ipybox/placeholders"));
    CHECK(has(settings, "allowRead", here.home / "secret"));
    CHECK(has(settings, "denyRead", here.work / "servers.json"));
    CHECK(has(settings, "denyWrite", here.work / "missing"));
    CHECK(has(settings, "denyWrite", here.work / "later.env"));
    CHECK(has(settings, "denyRead", here.work / "later.env"));
    // They hold what is writable.
    CHECK_FALSE(has(settings, "denyWrite", here.work));
    CHECK_FALSE(has(settings, "denyWrite", here.home));
    CHECK_FALSE(has(settings, "allowRead", here.work / "venv"));
    CHECK(settings.at("network").at("allowAllUnixSockets") == false);
}

TEST_CASE("srt: an srt that lies in the working directory cannot be changed, and programs there are not run") {
    place const here;
    auto const packages = here.work / "node_modules";
    auto const program = packages / ".bin/srt";
    make_program(packages / "@anthropic-ai/sandbox-runtime/dist/cli.js", "echo 0.0.83");
    fs::create_directories(program.parent_path());
    fs::create_symlink(packages / "@anthropic-ai/sandbox-runtime/dist/cli.js", program);
    fs::create_directories(here.work / "bin");
    with_variable const path("PATH", "relative:" + (here.work / "bin").string() + ":" + path_of_tests());
    auto const launch = wrapped(srt_sandbox({.program = program}), here.spec());
    CHECK(has(settings_of(launch), "denyWrite", packages));
    CHECK(launch.env.at("PATH").find("relative") == std::string::npos);
    CHECK(launch.env.at("PATH").find((here.work / "bin").string()) == std::string::npos);
}

TEST_CASE("srt: parts of the system that a launch opens") {
    place const here;
    auto spec = here.spec();
    spec.allow = {system_access::unix_sockets, system_access::user_namespaces, system_access::io_uring};
    auto const settings = settings_of(wrapped(here.sandbox(), spec));
    CHECK(settings.at("network").at("allowAllUnixSockets") == true);
    CHECK(settings.at("allowNestedUserNamespaces") == true);
    spec.allow = {system_access::io_uring};
    CHECK(refusal(here.sandbox(), spec).text() ==
          "srt cannot open io-uring alone; allow unix-sockets, which opens both");
}

TEST_CASE("srt: a file of settings is passed on with all its keys") {
    place const here;
    auto const file = here.home / "settings.json";
    std::ofstream(file) << R"({"network": {"allowedDomains": ["a.example"], "deniedDomains": [], "httpProxyPort": 8080},
      "filesystem": {"denyRead": ["~/x"], "allowWrite": ["out"], "denyWrite": []}, "allowPty": true})";
    auto const settings = settings_of(wrapped(srt_sandbox(file, {.program = here.srt}), here.spec()));
    CHECK(settings.at("allowPty") == true);
    CHECK(settings.at("network").at("httpProxyPort") == 8080);
    CHECK(settings.at("filesystem").at("denyRead") == json::parse(R"(["~/x"])"));
    CHECK(settings.at("filesystem").at("allowWrite").at(0) == "out");
    CHECK(srt_sandbox(file).describe(here.work).error().text().find("httpProxyPort") != std::string::npos);
    CHECK(refusal(srt_sandbox(here.home / "absent.json", {.program = here.srt}), here.spec()) == errc::io_error);
}

TEST_CASE("srt: a file of settings of 1 MiB is passed on, and a larger one is not") {
    place const here;
    std::string const text = R"({"network": {"allowedDomains": []}, "filesystem": {"denyRead": []}})";
    std::string const blanks((1 << 20) - text.size(), ' ');
    std::ofstream(here.home / "longest.json") << text << blanks;
    std::ofstream(here.home / "longer.json") << text << blanks << ' ';
    (void)settings_of(wrapped(srt_sandbox(here.home / "longest.json", {.program = here.srt}), here.spec()));
    srt_sandbox const longer(here.home / "longer.json", {.program = here.srt});
    CHECK(refusal(longer, here.spec()) == errc::invalid_argument);
}

TEST_CASE("srt: paths that are left out are not passed on") {
    auto const settings = with_additions(
        R"({"filesystem":{"denyRead":["~/a",{"path":"/b","literal":true},"/c"],"allowWrite":["."]},"network":{}})",
        {.left_out = {"~/a", "/b"}});
    CHECK(settings.at("filesystem").at("denyRead") == json{"/c"});
    CHECK(settings.at("filesystem").at("allowWrite") == json{"."});
}

TEST_CASE("srt: settings that cannot be completed are refused") {
    CHECK(settings_problem("{").starts_with("s.json:1:"));
    CHECK(settings_problem("{}") == "s.json: filesystem and network must be objects");
    CHECK(settings_problem(R"({"network": {}, "filesystem": {"disabled": true}})") ==
          "s.json: filesystem/disabled would switch the rules for files off; remove it");
    CHECK(settings_problem(R"({"network": {}, "filesystem": {"allowWrite": "."}})") ==
          "s.json: filesystem/allowWrite must be a list of paths");
    CHECK(settings_problem(R"({"network": {}, "filesystem": {}})", {.hidden = {"/caf\xe9"}}).find("is not UTF-8") !=
          std::string::npos);
    auto const made = with_additions(R"({"network": {}, "filesystem": {}})", {.hidden = {"/x"}});
    CHECK(made.at("filesystem").at("denyRead").size() == 1);
    CHECK(made.at("filesystem").at("allowWrite").empty());
}

TEST_CASE("srt: launches that cannot be handed over are refused") {
    place const here;
    auto spec = here.spec();
    spec.argv.clear();
    CHECK(refusal(here.sandbox(), spec).text() == "there is no program to start");
    spec = here.spec();
    spec.control_fd = 10;
    CHECK(refusal(here.sandbox(), spec).text().find("choose one of 3 to 9") != std::string::npos);
    spec = here.spec();
    spec.ends_with_starter = true;
    CHECK(refusal(here.sandbox(), spec).text().find("with srt as its command") != std::string::npos);
    spec = here.spec();
    spec.working_dir = "/";
    CHECK(refusal(here.sandbox(), spec) == errc::invalid_argument);
    CHECK(refusal(here.sandbox(R"({"network": {"allowUnixSockets": ["/run/x"]}})"), here.spec())
              .text()
              .find("allowUnixSockets") != std::string::npos);
}

TEST_CASE("srt: what a configuration means is told, hosts included") {
    place const here;
    std::ofstream(here.work / ".env") << "text";
    auto const seen =
        here.sandbox(R"({"network": {"allowedDomains": ["pypi.org", "*.example.org:443"]}})").describe(here.work);
    REQUIRE(seen);
    CHECK(seen->hosts == std::vector<std::string>{"pypi.org", "*.example.org:443"});
    CHECK(seen->writable == std::vector{here.work});
    CHECK(seen->masked == std::vector{here.work / ".env"});
    CHECK(seen->private_directories.empty());
    CHECK(std::ranges::find(seen->read_only, here.work / ".envrc") != seen->read_only.end());
}
