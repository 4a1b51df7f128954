#include <ipybox/mcp/server_file.hpp>
#include <ipybox/mcp/server_launch.hpp>
#include <ipybox/mcp/variables.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <variant>

namespace {

using namespace ipybox;
using namespace ipybox::mcp;
using nlohmann::json;
using test::contains;
using test::scratch_dir;

server_params process_of(result<server_params> const& p) {
    REQUIRE(p);
    REQUIRE_FALSE(p->is_remote());
    return *p;
}

server_params remote_of(result<server_params> const& p) {
    REQUIRE(p);
    REQUIRE(p->is_remote());
    return *p;
}

std::string complaint(json const& entry) {
    auto const p = server_params::read(entry);
    REQUIRE_FALSE(p);
    CHECK(p.error() == errc::invalid_argument);
    return p.error().text();
}

std::optional<std::string> some_variables(std::string const& name) {
    if (name == "TOKEN") return "t0ken";
    if (name == "EMPTY") return "";
    if (name == "TRICKY") return "${TOKEN}";
    return std::nullopt;
}

/// A text with variables put in, or the error.
std::string put(std::string text) {
    server_params params;
    params.command = "c";
    params.args = {std::move(text)};
    auto const done = ipybox::mcp::detail::put_variables(std::move(params), some_variables, {});
    return done ? done->args[0] : "<" + done.error().code().message() + ">";
}

} // namespace

TEST_CASE("server_params: the time to start") {
    using namespace std::chrono_literals;
    auto const read = [](json const& entry) { return process_of(server_params::read(entry)); };
    CHECK(read({{"command", "c"}}).connect_timeout == 30s);
    auto const codex = read({{"command", "c"}, {"startup_timeout_sec", 90}});
    CHECK(codex.connect_timeout == 90s);
    CHECK(codex.list_timeout == 90s); // which the start is part of
    CHECK(codex.call_timeout == 10min);
    auto const quick = read({{"command", "c"}, {"connect_timeout", "0.5"}, {"startup_timeout_sec", 90}});
    CHECK(quick.connect_timeout == 500ms);
    CHECK(quick.list_timeout == 60s);
    for (auto const& wrong : {json(0), json(-1), json("soon"), json(true), json(1e9)})
        CHECK(complaint({{"command", "c"}, {"connect_timeout", wrong}}) ==
              "`connect_timeout` is not a number of seconds above 0");
}

TEST_CASE("server_params: entries as clients write them") {
    auto const claude = process_of(server_params::read(json::parse(
        R"({"type":"stdio","command":"npx","args":["-y","pkg"],"env":{"KEY":"${KEY}","PORT":8080,"OFF":null,"ON":true},"timeout":60,"autoApprove":["x"]})")));
    CHECK(claude.command == "npx");
    CHECK(claude.args == std::vector<std::string>{"-y", "pkg"});
    CHECK(claude.env == environment{{"KEY", "${KEY}"}, {"PORT", "8080"}, {"ON", "true"}});
    CHECK(claude.inherit == server_params::inherited::essential);
    auto const code =
        process_of(server_params::read(json{{"command", "c"}, {"envFile", ".env"}, {"cwd", "/x"}, {"args", nullptr}}));
    CHECK(code.env_file == ".env");
    CHECK(code.working_dir == "/x");
    for (auto const* const name : {"url", "httpUrl", "serverUrl"})
        CHECK(remote_of(server_params::read(json{{name, "https://h/mcp"}, {"headers", {{"A", "b"}}}})).url ==
              "https://h/mcp");
    CHECK(remote_of(server_params::read(json{{"url", "u"}, {"headers", {{"A", "b"}}}})).headers.at("A") == "b");
    CHECK(process_of(server_params::read(json{{"command", "c"}, {"url", "u"}})).command == "c");
    auto const odd = process_of(
        server_params::read(json{{"command", "c"}, {"args", {"--port", 8080, true, 0.5}}, {"timeout", "60"}}));
    CHECK(odd.args == std::vector<std::string>{"--port", "8080", "true", "0.5"});
    CHECK(odd.call_timeout == std::chrono::seconds(60));
}

TEST_CASE("server_params: a sandbox is a configuration, or the default one") {
    auto const sandbox_of = [](json const& sandbox) {
        return process_of(server_params::read(json{{"command", "c"}, {"sandbox", sandbox}})).sandbox;
    };
    CHECK_FALSE(process_of(server_params::read(json{{"command", "c"}})).sandbox);
    CHECK_FALSE(sandbox_of(false));
    CHECK_FALSE(sandbox_of(nullptr));
    CHECK(sandbox_of(true));
    CHECK(sandbox_of({{"filesystem", {{"allowWrite", {"."}}}}}));
    auto const wrong = [](json const& sandbox) { return complaint(json{{"command", "c"}, {"sandbox", sandbox}}); };
    CHECK(contains(wrong("srt"), "`sandbox` is not a sandbox's configuration, true or false"));
    CHECK(contains(wrong({{"filesystm", json::object()}}), "filesystm"));
    CHECK(contains(wrong({{"filesystem", {{"allowWrite", "."}}}}), "filesystem/allowWrite"));
}

TEST_CASE("server_params: what is wrong is said without quoting values") {
    CHECK(contains(complaint(json("secret")), "not an object"));
    CHECK(contains(complaint(json::object()), "neither a `command` nor a `url`"));
    CHECK(
        contains(complaint(json{{"comand", "secret"}, {"args", json::array()}}), "; its members are `args`, `comand`"));
    CHECK_FALSE(contains(complaint(json{{"comand", "secret"}}), "secret"));
    json many = json::object();
    for (int i = 0; i < 1000; ++i) many["name" + std::to_string(i)] = i;
    CHECK(complaint(many).size() < 300);
    CHECK(contains(complaint(json{{"command", ""}}), "`command` is empty"));
    CHECK(contains(complaint(json{{"command", {"secret"}}}), "`command`"));
    CHECK(contains(complaint(json{{"command", "c"}, {"args", "secret"}}), "`args`"));
    CHECK(contains(complaint(json{{"command", "c"}, {"args", {"secret", nullptr}}}), "`args`"));
    CHECK(contains(complaint(json{{"command", "c"}, {"timeout", "soon"}}), "`timeout`"));
    CHECK(contains(complaint(json{{"command", "c"}, {"env", {"secret"}}}), "`env`"));
    CHECK(contains(complaint(json{{"command", "c"}, {"env", {{"A", {"secret"}}}}}), "`env`"));
    CHECK(contains(complaint(json{{"url", 7}}), "`url`"));
    CHECK_FALSE(contains(complaint(json{{"command", "c"}, {"args", {"secret", {7}}}}), "secret"));
}

TEST_CASE("server_params: texts that a program would get otherwise than they were judged") {
    auto const entry = [](char const* member, nlohmann::json value) {
        json whole{{"command", "x"}};
        whole[member] = std::move(value);
        return server_params::read(whole);
    };
    std::string const cut("a\0b", 3);
    CHECK_FALSE(entry("command", cut));
    CHECK_FALSE(entry("args", {cut}));
    CHECK_FALSE(entry("cwd", cut));
    CHECK_FALSE(entry("envFile", cut));
    for (auto const& name : {cut, std::string(), std::string("PYTHONPATH=/tmp:A_TOKEN")})
        CHECK_FALSE(entry("env", {{name, "x"}}));
    CHECK_FALSE(entry("env", {{"A", cut}}));
    CHECK(entry("env", {{"A", "x=y"}}));
}

TEST_CASE("server_file: the files of Claude, Cursor and VS Code") {
    scratch_dir const dir;
    auto const claude = ipybox::mcp::detail::read_server_file(dir.write("claude.json", R"({"mcpServers":{
        "b":{"command":"npx"},"a":{"url":"https://h"},"off":{"command":"x","disabled":true},"on":{"command":"y","disabled":false}},"other":1})"));
    REQUIRE(claude);
    REQUIRE(claude->size() == 3);
    CHECK((*claude)[0].name == "a");
    CHECK((*claude)[1].name == "b");
    CHECK((*claude)[2].name == "on");
    auto const code = ipybox::mcp::detail::read_server_file(dir.write(
        "code.json", "{\n// a comment\n\"inputs\":[], \"servers\":{\"a\":{\"type\":\"stdio\",\"command\":\"c\"}}}"));
    REQUIRE(code);
    CHECK(code->size() == 1);
}

TEST_CASE("server_file: commas behind the last member, as editors leave them") {
    scratch_dir const dir;
    auto const written =
        "// mine\n{\"servers\": {\"a\": {\"command\": \"c, }\", \"args\": [\"x,]\", \"\\\",}\", ], /* , */ },\n"
        "  // the last one, }\n},\n}\n";
    auto const read = ipybox::mcp::detail::read_server_file(dir.write("mcp.json", written));
    REQUIRE(read);
    auto const a = process_of(read->front().params);
    CHECK(a.command == "c, }");
    CHECK(a.args == std::vector<std::string>{"x,]", "\",}"});
    for (auto const* const text :
         {"{\"servers\":{,}}", "{\"servers\":{\"a\":{\"args\":[1,,]}}}", "{\"servers\":{},,}", ",{}", "{},"})
        CHECK_FALSE(ipybox::mcp::detail::read_server_file(dir.write("mcp.json", text)));
    auto const place = ipybox::mcp::detail::read_server_file(dir.write("mcp.json", "{\"servers\": {},\n\n  oops,}"));
    REQUIRE_FALSE(place);
    CHECK(contains(place.error().text(), "mcp.json:3:3: syntax error"));
}

TEST_CASE("server_file: an entry that cannot be used costs no other one") {
    scratch_dir const dir;
    auto const read = ipybox::mcp::detail::read_server_file(dir.write("mcp.json", R"({"mcpServers": {
        "a": {"args": []}, "b": {"command": "c", "env": 7}, "c": {"command": "c", "timeout": true}, "d": "x",
        "good": {"command": "c"}}})"));
    REQUIRE(read);
    REQUIRE(read->size() == 5);
    for (std::size_t i = 0; i < 4; ++i) {
        REQUIRE_FALSE((*read)[i].params);
        CHECK((*read)[i].params.error() == errc::invalid_argument);
    }
    CHECK(contains((*read)[1].params.error().text(), "`env` is not an object of texts"));
    CHECK((*read)[4].params);
}

TEST_CASE("server_file: the places that clients write servers to, and how they switch them off") {
    scratch_dir const dir;
    for (auto const* const text :
         {R"({"mcp": {"servers": {"a": {"command": "c"}}}})", R"({"context_servers": {"a": {"command": "c"}}})"}) {
        auto const read = ipybox::mcp::detail::read_server_file(dir.write("f.json", text));
        REQUIRE(read);
        CHECK(read->front().name == "a");
    }
    auto const read = ipybox::mcp::detail::read_server_file(dir.write("f.json", R"({"mcpServers": {
        "a": {"enabled": false}, "b": {"isActive": false}, "c": {"disabled": "true"}, "d": {"enabled": "false"},
        "on": {"command": "c", "enabled": true, "isActive": true, "disabled": "false"}}})"));
    REQUIRE(read);
    REQUIRE(read->size() == 1);
    CHECK(read->front().name == "on");
    auto const toml =
        ipybox::mcp::detail::read_server_file(dir.write("config.toml", "[mcp_servers.a]\ncommand = 'c'\n"));
    REQUIRE_FALSE(toml);
    CHECK(contains(toml.error().text(), "this looks like TOML"));
}

TEST_CASE("server_file: the longest that is read, and one byte more") {
    test::scratch_dir const dir;
    std::string text = R"({"mcpServers":{"a":{"command":"b"}}})";
    text.resize(std::size_t(16) << 20, ' ');
    CHECK(ipybox::mcp::detail::read_server_file(dir.write("f.json", text)));
    auto const refused = ipybox::mcp::detail::read_server_file(dir.write("f.json", text + ' '));
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
}

TEST_CASE("server_file: what is wrong, and where") {
    scratch_dir const dir;
    auto const said = [&dir](std::string const& text) {
        auto const read = ipybox::mcp::detail::read_server_file(dir.write("f.json", text));
        REQUIRE_FALSE(read);
        CHECK(read.error() == errc::invalid_argument);
        CHECK(contains(read.error().text(), (dir.path() / "f.json").string()));
        return read.error().text();
    };
    CHECK(contains(said("not json"), "f.json:1:2: syntax error"));
    CHECK(contains(said(""), "f.json:1:1: syntax error"));
    CHECK(contains(said("{\n  // comment\n  \"mcpServers\": {"), "f.json:3:18: syntax error"));
    CHECK(contains(said("[]"), "f.json:1:1: an object is wanted, with `mcpServers` in it"));
    CHECK_FALSE(contains(said("{\"mcpServers\":{\"a\":{\"env\":{\"K\":\"secret\n\"}}}}"), "secret"));
    CHECK(contains(said("{}"), "no object with servers"));
    CHECK(contains(said(R"({"mcpServers":[]})"), "no object with servers"));
    CHECK(contains(said(R"({"mcpServers":{"a":{"command":"c"},"a":{"command":"secret"}}})"), "\"a\" stands twice"));
    CHECK(contains(said(R"({"mcpServers":{"a-b":{"command":"c"},"a_b":{"command":"c"}}})"),
                   "both \"a-b\" and \"a_b\" would be registered as a_b"));
    auto const absent = ipybox::mcp::detail::read_server_file(dir.path() / "absent.json");
    REQUIRE_FALSE(absent);
    CHECK(absent.error() == errc::io_error);
}

TEST_CASE("server_file: names that Python cannot import") {
    scratch_dir const dir;
    auto const read = ipybox::mcp::detail::read_server_file(dir.write(
        "f.json",
        R"({"mcpServers":{"z":{"command":"c"},"sequential-thinking":{"command":"c"},"2fa":{"command":"c"}}})"));
    REQUIRE(read);
    REQUIRE(read->size() == 3);
    CHECK((*read)[0].name == "sequential_thinking");
    CHECK((*read)[0].written == "sequential-thinking");
    CHECK((*read)[1].name == "server_2fa");
    CHECK((*read)[2].name == "z");
    CHECK(ipybox::mcp::detail::nearest_server_name("größe.a b") == "gr__e_a_b");
    CHECK(ipybox::mcp::detail::nearest_server_name("../x") == "server____x");
    CHECK(ipybox::mcp::detail::nearest_server_name("x__") == "x__");
    CHECK(contains(ipybox::mcp::detail::check_server_name("brave-search").error().text(), "try \"brave_search\""));
}

TEST_CASE("server_file: the project of a file") {
    scratch_dir const dir;
    std::string const text = R"({"servers":{"a":{"command":"c","args":["${workspaceFolder}/x",
        "${workspaceFolderBasename}", "${userHome}${/}y${pathSeparator}z"]}}})";
    for (auto const* const folder : {".vscode", ".cursor", "other"}) {
        std::filesystem::create_directories(dir.path() / folder);
        auto const read = ipybox::mcp::detail::read_server_file(dir.write(std::string(folder) + "/mcp.json", text));
        REQUIRE(read);
        auto const project = *folder == '.' ? dir.path() : dir.path() / folder;
        auto const home = [](std::string const& name) {
            return name == "HOME" ? std::optional<std::string>("/home/me") : std::nullopt;
        };
        auto const server = process_of(ipybox::mcp::detail::put_variables(*read->front().params, home, {}));
        CHECK(server.args[0] == (project / "x").string());
        CHECK(server.args[1] == project.filename().string());
        CHECK(server.args[2] == "/home/me/y/z");
    }
    CHECK(put("${/}") == "/");
    server_params alone;
    alone.command = "c";
    alone.args = {"${workspaceFolder}", "${userHome}"};
    auto const unknown =
        ipybox::mcp::detail::put_variables(alone, [](std::string const&) { return std::optional<std::string>(); }, {});
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error() == errc::variable_not_set);
    CHECK(contains(unknown.error().text(), "workspaceFolder, HOME"));
}

TEST_CASE("server_file: names") {
    for (auto const* const name : {"a", "A", "github", "my_server2", "x__"})
        CHECK(ipybox::mcp::detail::is_server_name(name));
    for (auto const* const name : {"", "_a", "2a", "a-b", "a.b", "a b", "größe", "../x", "a/b", "a\n"})
        CHECK_FALSE(ipybox::mcp::detail::is_server_name(name));
    CHECK_FALSE(ipybox::mcp::detail::is_server_name(std::string_view("a\0b", 3)));
}

TEST_CASE("variables: what they are put in for") {
    CHECK(put("plain") == "plain");
    CHECK(put("a ${TOKEN} b ${env:TOKEN}${TOKEN}") == "a t0ken b t0kent0ken");
    CHECK(put("${NOT_SET:-default}") == "default");
    CHECK(put("${EMPTY:-default}") == "default");
    CHECK(put("${TOKEN:-default}") == "t0ken");
    CHECK(put("${NOT_SET:-}") == "");
    CHECK(put("${EMPTY}") == "");
    CHECK(put("${env:NOT_SET:-x}") == "x");
    CHECK(put("${TRICKY}") == "${TOKEN}"); // once
    // no variables
    for (auto const* const text : {"$TOKEN", "$", "${", "${TOKEN", "${}", "${1}", "${a b}", "${TOKEN-x}", "$${", "}"})
        CHECK(put(text) == text);
}

TEST_CASE("variables: a path that begins at home, as a shell would have it") {
    auto const home = [](std::string const& name) {
        return name == "HOME" ? std::optional<std::string>("/home/me") : std::nullopt;
    };
    server_params params;
    params.command = "~/bin/x";
    params.args = {"~", "~/a", "~other/a", "--dir=~/a", "a~", "${TILDE:-~/b}"};
    params.env = {{"A", "~/a"}};
    params.env_file = "~/.env";
    params.working_dir = "~";
    auto const put = ipybox::mcp::detail::put_variables(params, home, {});
    REQUIRE(put);
    CHECK(put->command == "/home/me/bin/x");
    CHECK(put->args == std::vector<std::string>{"/home/me", "/home/me/a", "~other/a", "--dir=~/a", "a~", "~/b"});
    CHECK(put->env == environment{{"A", "~/a"}});
    CHECK(put->env_file == "/home/me/.env");
    CHECK(put->working_dir == "/home/me");
    auto const without =
        ipybox::mcp::detail::put_variables(params, [](std::string const&) { return std::optional<std::string>(); }, {});
    REQUIRE_FALSE(without);
    CHECK(contains(without.error().text(), "HOME"));
}

TEST_CASE("variables: in every text of the parameters, and never in names") {
    server_params local;
    local.command = "${TOKEN}";
    local.args = {"${TOKEN}"};
    local.env = {{"${TOKEN}", "${TOKEN}"}};
    local.env_file = "${TOKEN}";
    local.working_dir = "${TOKEN}";
    auto const s = process_of(ipybox::mcp::detail::put_variables(local, some_variables, {}));
    CHECK(s.command == "t0ken");
    CHECK(s.args[0] == "t0ken");
    CHECK(s.env == environment{{"${TOKEN}", "t0ken"}});
    CHECK(s.env_file == "t0ken");
    CHECK(s.working_dir == "t0ken");
    server_params remote;
    remote.url = "https://${TOKEN}";
    remote.headers = {{"A", "Bearer ${TOKEN}"}};
    auto const r = remote_of(ipybox::mcp::detail::put_variables(remote, some_variables, {}));
    CHECK(r.url == "https://t0ken");
    CHECK(r.headers.at("A") == "Bearer t0ken");
}

TEST_CASE("variables: one that is not set is named, and nothing else") {
    server_params params;
    params.command = "${TOKEN}";
    params.args = {"${FIRST}", "x${TOKEN}${SECOND}"};
    params.env = {{"A", "${FIRST}"}};
    auto const done = ipybox::mcp::detail::put_variables(params, some_variables, {});
    REQUIRE_FALSE(done);
    CHECK(done.error() == errc::variable_not_set);
    CHECK(contains(done.error().text(), "FIRST, SECOND"));
    CHECK_FALSE(contains(done.error().text(), "t0ken"));
    for (auto const* const text : {"${input:key}", "${config:x.y}", "${TOKEN:secret}"}) {
        params.command = "c";
        params.args = {text};
        auto const strange = ipybox::mcp::detail::put_variables(params, some_variables, {});
        REQUIRE_FALSE(strange);
        CHECK(strange.error() == errc::variable_not_set);
        CHECK_FALSE(contains(strange.error().text(), "secret"));
    }
    ipybox::os::host_environment const host({{"NAME", "of the host"}}, "/");
    CHECK(ipybox::mcp::detail::put_variables(server_params{"${NAME}"}, {}, host)->command == "of the host");
    CHECK_FALSE(ipybox::mcp::detail::put_variables(server_params{"${OTHER}"}, {}, host));
}

TEST_CASE("server_launch: program, directory and environment") {
    scratch_dir const dir;
    dir.write("bin/tool", "#!/bin/sh\n");
    std::filesystem::permissions(dir.path() / "bin/tool", std::filesystem::perms::owner_all);
    dir.write("settings.env", "# comment\n\nexport A=1\nB = \"two words\"\nC='x=y'\nD=\r\n");
    ::setenv("IPYBOX_TEST_EXTRA", "1", 1);

    server_params server{"tool", {"--flag"}};
    server.env = {{"PATH", "/nowhere:" + (dir.path() / "bin").string()}, {"A", "over"}};
    server.env_file = "settings.env";
    server.working_dir = dir.path().string();
    auto const spec = launch_of(server);
    REQUIRE(spec);
    CHECK(spec->argv == std::vector<std::string>{(dir.path() / "bin/tool").string(), "--flag"});
    CHECK(spec->working_dir == dir.path());
    CHECK(spec->env.at("A") == "over");
    CHECK(spec->env.at("B") == "two words");
    CHECK(spec->env.at("C") == "x=y");
    CHECK(spec->env.at("D").empty());
    CHECK_FALSE(spec->env.contains("IPYBOX_TEST_EXTRA"));

    server.inherit = server_params::inherited::all;
    CHECK(launch_of(server)->env.at("IPYBOX_TEST_EXTRA") == "1");
    server.command = "bin/tool"; // relative to where it will run
    CHECK(launch_of(server)->argv[0] == (dir.path() / "bin/tool").string());
    server.working_dir.clear();
    server.env_file.clear();
    server.command = "/bin/sh";
    auto const plain = launch_of(server);
    REQUIRE(plain);
    CHECK(plain->argv[0] == "/bin/sh");
    CHECK(plain->working_dir.is_absolute());
}

TEST_CASE("server_launch: what cannot be started") {
    scratch_dir const dir;
    for (auto const* const command : {"ipybox-no-such-program", "/no/such/program", "./none"}) {
        auto const spec = launch_of(server_params{command});
        REQUIRE_FALSE(spec);
        CHECK(spec.error() == errc::mcp_start_failed);
        CHECK(contains(spec.error().text(), command));
    }
    server_params server{"/bin/sh"};
    server.env_file = (dir.path() / "absent").string();
    CHECK(launch_of(server).error() == errc::io_error);
    REQUIRE(::mkfifo((dir.path() / "pipe").c_str(), 0600) == 0); // code may put one there
    server.env_file = (dir.path() / "pipe").string();
    CHECK(launch_of(server).error() == errc::invalid_argument);
    server.env_file = dir.write("bad.env", "A=1\nsecret\n").string();
    auto const bad = launch_of(server);
    REQUIRE_FALSE(bad);
    CHECK(bad.error() == errc::invalid_argument);
    CHECK(contains(bad.error().text(), "line 2"));
    CHECK_FALSE(contains(bad.error().text(), "secret"));
}

TEST_CASE("server_params: the time limit of an entry, in seconds or milliseconds, and how to begin") {
    using namespace std::chrono_literals;
    auto const limit = [](char const* timeout) {
        return server_params::read(nlohmann::json{{"command", "x"}, {"timeout", nlohmann::json::parse(timeout)}});
    };
    CHECK(limit("60")->call_timeout == 60s);
    CHECK(limit("0.5")->call_timeout == 500ms);
    CHECK(limit("3600")->list_timeout == 3600s);
    CHECK(limit("30000")->call_timeout == 30s);
    CHECK(limit("\"60\"")->call_timeout == 60s);
    for (auto const* const wrong : {"0", "-1", "true"})
        CHECK(limit(wrong).error().text() == "`timeout` is not a number above 0");
    auto const plain = server_params::read({{"command", "x"}});
    CHECK(plain->call_timeout == 10min);
    CHECK(plain->list_timeout == 60s);
    CHECK(server_params::read({{"command", "x"}, {"negotiation", "stateless_only"}})->versions ==
          server_params::negotiation::stateless_only);
    CHECK_FALSE(server_params::read({{"command", "x"}, {"negotiation", "later"}}));
}
