#include <support/eventually.hpp>
#include <support/mcp_host.hpp>
#include <support/scratch_dir.hpp>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace {

using namespace ipybox;
using namespace ipybox::test::mcp_host_names;

bool is_alive(pid_t pid) {
    std::string word;
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    stat >> word >> word >> word;
    return stat && word != "Z";
}

/// Who was killed and is nobody's child here takes a moment.
bool is_gone(pid_t pid) {
    return test::eventually([pid] { return !is_alive(pid); });
}

/// Only the first line of an error may leave the host.
std::string first_line(error const& e) { return e.text().substr(0, e.text().find('\n')); }

} // namespace

TEST_CASE_METHOD(mcp_host, "wayward: both eras, and every version") {
    for (auto const* const revision : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        use(wayward({"--version", revision}));
        CHECK(text("echo", {{"text", "größe\n\u2028"}}) == "größe\n\u2028");
    }
    for (auto const* const era : {"stateless", "both"}) {
        use(wayward({"--era", era}));
        CHECK(text("echo", {{"text", "a"}}) == "a");
    }
    for (auto const how :
         {mcp::server_params::negotiation::discover_first, mcp::server_params::negotiation::stateless_only}) {
        auto params = wayward({"--era", "both"});
        params.versions = how;
        use(params);
        CHECK(text("echo", {{"text", "b"}}) == "b");
    }
    use(wayward({"--version", "2030-01-01"}));
    CHECK(failure_of("echo") == errc::mcp_version_unsupported);
    use(wayward({"--era", "stateless", "--version", "2030-01-01"}));
    CHECK(failure_of("echo") == errc::mcp_version_unsupported);
}

TEST_CASE_METHOD(mcp_host, "wayward: a server that ends upon the probe is started anew") {
    auto params = wayward({"--exit-on-discover"});
    params.versions = mcp::server_params::negotiation::discover_first;
    use(params);
    CHECK(text("echo", {{"text", "a"}}) == "a");
}

TEST_CASE_METHOD(mcp_host, "wayward: pages of tools, the empty cursor among them") {
    for (auto const* const era : {"handshake", "stateless"}) {
        use(wayward({"--era", era, "--page-size", "4"}));
        auto const paged = test::run(context(), registry().list_tools("s"));
        use(wayward());
        auto const whole = test::run(context(), registry().list_tools("s"));
        REQUIRE(paged);
        REQUIRE(whole);
        REQUIRE(paged->size() == whole->size());
        CHECK(paged->size() > 12);
        for (std::size_t i = 0; i < paged->size(); ++i) CHECK((*paged)[i].name == (*whole)[i].name);
        CHECK((*whole)[0].input_schema["properties"].dump() ==
              R"({"zulu":{"type":"string"},"alpha":{"type":"integer"}})");
    }
}

TEST_CASE_METHOD(mcp_host, "wayward: a list whose pages have a cursor each ends where nothing new comes") {
    for (auto const* const cursor : {R"("")", R"("8")", "50"}) {
        CAPTURE(cursor);
        use(wayward({"--cursor", cursor}));
        auto const tools = test::run(context(), registry().list_tools("s"));
        REQUIRE(tools);
        REQUIRE(tools->size() == 3);
        CHECK(tools->back().remark.empty() == (*cursor == '"'));
    }
}

TEST_CASE_METHOD(mcp_host, "wayward: members that are null are members that are left out") {
    for (auto const* const version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        use(wayward({"--nulls", "--version", version}));
        CHECK(test::run(context(), registry().list_tools("s")));
        CHECK(text("echo", {{"text", "kept"}}) == "kept");
        CHECK_FALSE(call("structured", {{"value", nullptr}})->structured_content);
        CHECK(value("structured", {{"value", {{"n", 1}}}}) == nlohmann::json{{"n", 1}});
        CHECK(failure_of("nope") == errc::mcp_refused);
    }
    use(wayward({"--nulls", "--era", "stateless"}));
    CHECK(value("structured", {{"value", nullptr}}).is_null());
}

TEST_CASE_METHOD(mcp_host, "wayward: a byte order mark is passed over, another framing is named at once") {
    use(wayward({"--framing", "mark"}));
    CHECK(text("echo", {{"text", "größe"}}) == "größe");
    for (auto const& [framing, says] :
         {std::pair{"length", "puts `Content-Length:` before its messages, as the Language Server Protocol does"},
          {"several", "writes its messages over several lines"},
          {"prompt", "writes its messages behind other text on the same line"},
          {"unended", "does not end the lines of its messages"},
          {"utf-16", "writes its messages in UTF-16"}}) {
        CAPTURE(framing);
        use(wayward({"--framing", framing}));
        auto const begun = std::chrono::steady_clock::now();
        auto const why = failure_of("echo", {{"text", "a"}});
        CHECK(why == errc::protocol_error);
        CHECK(test::contains(first_line(why), "the MCP server 's' " + std::string(says)));
        CHECK(test::contains(why.text(), "\nit said:\non standard output, where only messages belong: \""));
        CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10)); // of 30
    }
}

TEST_CASE_METHOD(mcp_host, "wayward: a prompt keeps the time to connect, and is quoted when that is over") {
    auto params = wayward({"--silent", "--prompt", "Ok to proceed? (y) "});
    params.connect_timeout = std::chrono::seconds(3);
    use(params);
    auto const why = failure_of("echo");
    CHECK(why == errc::mcp_unresponsive);
    std::string const said = "on standard output, where only messages belong: \"Ok to proceed? (y) \"";
    CHECK(why.text() == "the MCP server 's' did not begin to talk within 3000 ms (connect_timeout); it said: " + said +
                            "\nit said:\n" + said + "\n");
}

TEST_CASE_METHOD(mcp_host, "wayward: noise on standard output is passed over") {
    use(wayward({"--noise"}));
    CHECK(text("echo", {{"text", "a"}}) == "a");
    CHECK(call("progress", {{"steps", 3}}));
}

TEST_CASE_METHOD(mcp_host, "wayward: all content") {
    use(wayward());
    auto const r = call("content");
    REQUIRE(r);
    CHECK(r->content.size() == 8);
    CHECK(r->text() == "first\ngröße \U0001f600");
    CHECK(r->meta == json{{"cost", 3}});
    for (json const& value : {json(0), json(false), json::object(), json({1, "x"})})
        CHECK(this->value("structured", {{"value", value}}) == value);
    auto const failed = call("fail");
    REQUIRE(failed);
    CHECK(failed->is_error);
    CHECK(failed->text() == "it did not work");
}

TEST_CASE_METHOD(mcp_host, "wayward: progress") {
    for (auto const* const era : {"handshake", "stateless"}) {
        use(wayward({"--era", era}));
        std::vector<std::string> messages;
        mcp::call_options options;
        options.on_progress = [&](mcp::call_options::progress const& p) {
            messages.push_back(p.message.value_or("?"));
        };
        auto const r = call("progress", {{"steps", 3}}, options);
        REQUIRE(r);
        CHECK(r->text() == "done");
        CHECK(messages == std::vector<std::string>{"step 1", "step 2", "step 3"});
        CHECK(text("progress", {{"steps", 3}}) == "nobody asked");
    }
}

TEST_CASE("wayward: its tools change, and who wants to know is told") {
    for (auto const* const era : {"handshake", "stateless"}) {
        int changes = 0;
        mcp::registry_options options;
        options.on_tools_changed = [&](std::string const& name) { changes += name == "s"; };
        mcp_host host(options);
        host.use(wayward({"--era", era}));
        auto const before = test::run(host.context(), host.registry().list_tools("s"));
        CHECK(host.text("add_tool") == "added");
        CHECK(host.until([&] { return changes == 1; }));
        auto const after = test::run(host.context(), host.registry().list_tools("s"));
        REQUIRE(before);
        REQUIRE(after);
        CHECK(after->size() == before->size() + 1);
    }
}

TEST_CASE_METHOD(mcp_host, "wayward: what it asks of the client is answered or refused") {
    use(wayward());
    auto const answers = value("ask_client");
    CHECK(answers["ping"]["result"] == json::object());
    CHECK(answers["roots/list"]["error"]["code"] == -32601);
    CHECK(answers["sampling/createMessage"]["error"]["code"] == -32601);
}

TEST_CASE_METHOD(mcp_host, "wayward: rounds with the server's state, but no input") {
    use(wayward({"--era", "stateless"}));
    CHECK(text("want_rounds", {{"rounds", 3}}) == "after 3 rounds");
    CHECK(failure_of("want_rounds", {{"rounds", 99}}) == errc::mcp_input_required);
    CHECK(failure_of("want_input") == errc::mcp_input_required);
    CHECK(failure_of("strange_result") == errc::protocol_error);
    CHECK(text("echo", {{"text", "on"}}) == "on");
}

TEST_CASE_METHOD(mcp_host, "wayward: errors of the protocol") {
    use(wayward());
    auto const unknown = failure_of("no_such_tool");
    CHECK(unknown == errc::mcp_refused);
    CHECK(contains(unknown.text(), "Unknown tool: no_such_tool (-32602)"));
    CHECK(failure_of("invalid_json") == errc::protocol_error);
    CHECK(text("echo", {{"text", "on"}}) == "on");
}

TEST_CASE_METHOD(mcp_host, "wayward: what cannot be started") {
    use(wayward({"--exit", "3"}));
    auto const left = failure_of("echo");
    CHECK(left == errc::mcp_start_failed);
    CHECK(left.status().code == 3);
    CHECK(first_line(left) == "the MCP server 's' could not be started: it ended: exit code 3; it said: cannot go "
                              "on: a secret");

    mcp::server_params params;
    params.command = "ipybox-no-such-server";
    params.args = {"--key=secret"};
    use(params);
    auto const absent = failure_of("echo");
    CHECK(absent == errc::mcp_start_failed);
    CHECK(first_line(absent) == "the MCP server 's' cannot be started: ipybox-no-such-server: there is no such program "
                                "on its PATH; install it, or give its whole path");
    CHECK_FALSE(contains(absent.text(), "secret"));

    params = wayward();
    params.working_dir = "/no/such/directory";
    use(params);
    auto const nowhere = failure_of("echo");
    CHECK(nowhere == errc::mcp_start_failed);
    CHECK(contains(first_line(nowhere), "the MCP server 's' cannot be started: "));
    CHECK(contains(first_line(nowhere), "/no/such/directory"));

    params = wayward({"--silent"});
    params.connect_timeout = 300ms;
    use(params);
    CHECK(failure_of("echo") == errc::mcp_unresponsive);
}

TEST_CASE_METHOD(mcp_host, "wayward: the last 16 KiB of standard error are kept") {
    auto const kept = [this](int bytes) {
        mcp::server_params params;
        auto const rest = std::to_string(bytes - 1);
        params.command = "sh";
        params.args = {"-c", "{ printf B; head -c " + rest + " /dev/zero | tr '\\0' x; } >&2"};
        use(params);
        auto const text = failure_of("echo").text();
        return text.substr(text.find("it said:\n") + 9);
    };
    CHECK(kept(16 * 1024) == "B" + std::string(16 * 1024 - 1, 'x'));
    CHECK(kept(16 * 1024 + 1) == std::string(16 * 1024, 'x'));
}

TEST_CASE_METHOD(mcp_host, "wayward: a crash fails the calls that are under way, and the next one finds a new server") {
    use(wayward());
    auto const pid = value("environment")["pid"];
    auto const sleeping = begin("sleep", {{"seconds", 30}});
    CHECK(text("echo", {{"text", "a"}}) == "a");
    auto const why = failure_of("die", {{"code", 5}});
    CHECK(why == errc::mcp_server_died);
    CHECK(why.status().code == 5);
    CHECK(first_line(why) == "the MCP server 's' ended: exit code 5; it said: about to die: a secret");
    CHECK(contains(why.text(), "about to die: a secret"));
    REQUIRE(until([&] { return sleeping->outcome.has_value(); }));
    CHECK(sleeping->outcome->error() == errc::mcp_server_died);
    CHECK(value("environment")["pid"] != pid);
    CHECK(failure_of("die", {{"signal", SIGSEGV}}).status().signal == SIGSEGV);

    // Between two calls it is noticed without any.
    auto const last = value("environment")["pid"].get<pid_t>();
    ::kill(last, SIGKILL);
    REQUIRE(is_gone(last));
    context().restart();
    context().poll();
    CHECK(text("echo", {{"text", "b"}}) == "b");
}

TEST_CASE_METHOD(mcp_host, "wayward: what it answered before it ended still counts") {
    use(wayward());
    for (int round = 0; round < 10; ++round) {
        CHECK(text("answer_and_die").size() == 200'000);
        stop(); // a call at once could still reach the one that is about to end
    }
}

TEST_CASE_METHOD(mcp_host, "wayward: one that closes its output is ended and started anew") {
    auto params = wayward();
    params.stop_grace = 200ms;
    use(params);
    CHECK(failure_of("close_output") == errc::mcp_server_died);
    CHECK(text("echo", {{"text", "b"}}) == "b");
}

TEST_CASE_METHOD(mcp_host, "wayward: a line without an end is not kept for ever") {
    use(wayward());
    auto const why = failure_of("endless_line");
    CHECK(why == errc::message_too_large);
    CHECK(text("echo", {{"text", "b"}}) == "b");
}

TEST_CASE_METHOD(mcp_host, "wayward: cancelled calls are cancelled at the server") {
    for (auto const* const era : {"handshake", "stateless"}) {
        use(wayward({"--era", era}));
        CHECK(text("echo", {{"text", "a"}}) == "a");
        auto const sleeping = begin("sleep", {{"seconds", 30}});
        CHECK(text("echo", {{"text", "b"}}) == "b");
        sleeping->cancel.emit(asio::cancellation_type::terminal);
        REQUIRE(until([&] { return sleeping->outcome.has_value(); }));
        CHECK(sleeping->outcome->error() == condition::cancelled);
        mcp::call_options options;
        options.timeout = 50ms;
        CHECK(failure_of("sleep", {{"seconds", 30}}, options) == errc::timed_out);
        CHECK(value("cancelled") == 2);
    }
}

TEST_CASE_METHOD(mcp_host, "wayward: hundreds of calls at once") {
    use(wayward());
    std::vector<std::shared_ptr<pending>> sleeping;
    for (int i = 0; i < 300; ++i) sleeping.push_back(begin("sleep", {{"seconds", 0.2}}));
    std::vector<std::shared_ptr<pending>> echoes;
    for (int i = 0; i < 500; ++i) echoes.push_back(begin("echo", {{"text", std::to_string(i)}}));
    REQUIRE(until([&] {
        return std::all_of(echoes.begin(), echoes.end(), [](auto const& p) { return p->outcome.has_value(); });
    }));
    for (std::size_t i = 0; i < echoes.size(); ++i) CHECK((*echoes[i]->outcome)->text() == std::to_string(i));
    REQUIRE(until([&] {
        return std::all_of(sleeping.begin(), sleeping.end(), [](auto const& p) { return p->outcome.has_value(); });
    }));
    for (auto const& p : sleeping) CHECK((*p->outcome)->text() == "slept");
}

TEST_CASE_METHOD(mcp_host, "wayward: a server that is slow to start delays no other") {
    REQUIRE(registry().add("slow", wayward({"--slow-start", "2"})));
    use(wayward());
    auto const slow = begin("echo", {{"text", "at last"}}, "slow");
    CHECK(text("echo", {{"text", "a"}}) == "a");
    CHECK_FALSE(slow->outcome);
    REQUIRE(until([&] { return slow->outcome.has_value(); }));
    CHECK((*slow->outcome)->text() == "at last");
}

TEST_CASE_METHOD(mcp_host, "wayward: large results and large arguments") {
    use(wayward());
    auto const r = call("big", {{"size", 64'000'000}});
    REQUIRE(r);
    auto const& text = std::get<mcp::content::text>(r->content.at(0).value).value;
    CHECK(text.size() == 64'000'000);
    CHECK(text.find_first_not_of('x') == std::string::npos);
    CHECK(this->text("size_of", {{"text", std::string(20'000'000, 'y')}}) == "20000000");
}

namespace {

/// A registry knows the variables that were there when it was made.
struct token_variables {
    token_variables() {
        ::setenv("IPYBOX_TEST_EXTRA", "not for servers", 1);
        ::setenv("IPYBOX_TEST_TOKEN", "t0ken", 1);
    }
};

struct host_with_token : token_variables, mcp_host {};

} // namespace

TEST_CASE_METHOD(host_with_token, "wayward: environment, directory, a group of its own") {
    test::scratch_dir const dir;
    auto params = wayward({"--farewell", (dir.path() / "farewell").string()});
    auto& server = params;
    server.env = {{"KEY", "${IPYBOX_TEST_TOKEN}"}};
    server.working_dir = dir.path().string();
    use(params);
    auto const seen = value("environment");
    CHECK(seen["env"]["KEY"] == "t0ken");
    CHECK(seen["env"].contains("PATH"));
    CHECK_FALSE(seen["env"].contains("IPYBOX_TEST_EXTRA"));
    CHECK(seen["cwd"] == dir.path().string());
    CHECK(seen["pgid"] == seen["pid"]);
    CHECK(seen["pgid"] != ::getpgid(0));
    CHECK(stop() < 1s);
    CHECK(std::filesystem::exists(dir.path() / "farewell")); // it ended by itself
    CHECK_FALSE(is_alive(seen["pid"].get<pid_t>()));
}

TEST_CASE_METHOD(mcp_host, "wayward: one that opens a terminal outlives it, and is ended as every other") {
    use(wayward());
    CHECK(text("open_terminal") == "closed it");
    auto const pid = value("environment")["pid"].get<pid_t>();
    CHECK(is_alive(pid));
    auto const child = value("start_child").get<pid_t>();
    CHECK(stop() < 2s);
    CHECK_FALSE(is_alive(pid));
    CHECK(is_gone(child));
}

TEST_CASE_METHOD(mcp_host, "wayward: ended step by step, with all that it started") {
    struct kind {
        std::vector<std::string> options;
        std::chrono::milliseconds at_least;
    };
    for (auto const& [options, at_least] :
         {kind{{}, 0ms}, kind{{"--ignore-eof"}, 150ms}, kind{{"--ignore-eof", "--ignore-term"}, 300ms}}) {
        CAPTURE(options);
        auto params = wayward(options);
        params.stop_grace = 150ms;
        use(params);
        auto const pid = value("environment")["pid"].get<pid_t>();
        auto const child = value("start_child").get<pid_t>();
        CHECK(is_alive(child));
        auto const took = stop();
        CHECK(took >= at_least);
        CHECK(took < at_least + 2s);
        CHECK_FALSE(is_alive(pid));
        CHECK(is_gone(child));
    }
}

TEST_CASE_METHOD(mcp_host, "wayward: a crash takes along what the server started") {
    use(wayward());
    auto const child = value("start_child").get<pid_t>();
    CHECK(failure_of("die") == errc::mcp_server_died);
    CHECK(text("echo", {{"text", "a"}}) == "a");
    CHECK(is_gone(child));
}

TEST_CASE("wayward: a registry that goes ends at once what was removed from it, though its context does not run") {
    asio::io_context context;
    auto registry = std::make_unique<mcp::server_registry>(context.get_executor());
    auto params = wayward({"--ignore-eof", "--ignore-term"});
    params.stop_grace = 60s;
    REQUIRE(registry->add("s", params));
    auto const r = test::run(context, registry->call("s", "environment", json::object()));
    REQUIRE(r);
    auto const pid = r->structured_content->value()["pid"].get<pid_t>();
    CHECK(registry->remove("s"));
    CHECK(is_alive(pid));
    registry.reset();
    CHECK(is_gone(pid));
}

TEST_CASE("wayward: a registry that goes ends its servers at once") {
    asio::io_context context;
    auto registry = std::make_unique<mcp::server_registry>(context.get_executor());
    REQUIRE(registry->add("s", wayward({"--ignore-eof", "--ignore-term"})));
    auto const r = test::run(context, registry->call("s", "environment", json::object()));
    REQUIRE(r);
    auto const pid = r->structured_content->value()["pid"].get<pid_t>();
    registry.reset();
    context.restart();
    context.run(); // nothing stays under way
    CHECK_FALSE(is_alive(pid));
}
