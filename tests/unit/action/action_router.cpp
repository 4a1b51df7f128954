#include <ipybox/action/action_router.hpp>
#include <ipybox/os/datagram.hpp>

#include <support/catch.hpp>
#include <support/transport_driver.hpp>
#include <support/turns.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/error.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace ipybox;
using namespace ipybox::detail;
using namespace std::chrono_literals;
using ipybox::test::run;
using nlohmann::json;

namespace {

/// A program that ends when it is told to, or by the signals it is said to mind.
class scripted_program final : public running_program {
  public:
    explicit scripted_program(asio::any_io_executor const& executor)
        : end_(executor, asio::steady_timer::time_point::max()) {}

    asio::awaitable<exit_status> exited() override {
        asio::error_code ended;
        if (!status) co_await end_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
        co_return status.value_or(exit_status());
    }

    asio::awaitable<result<void>> signal(int number) override {
        signals.push_back(number);
        if (throwing.contains(number)) throw std::runtime_error("no memory, say");
        if (number == SIGKILL || minds_interrupts) end({std::nullopt, number});
        co_return result<void>();
    }

    void end(exit_status how) {
        status = how;
        end_.cancel();
    }

    std::optional<exit_status> status;
    std::vector<int> signals;
    std::set<int> throwing = {}; ///< these signals cannot be sent
    bool minds_interrupts = true;

  private:
    asio::steady_timer end_;
};

/// Decides as it was told, and writes down what it is asked.
class scripted_host final : public action_host {
  public:
    explicit scripted_host(asio::io_context& context) : executor(context.get_executor()) {}

    asio::awaitable<detail::verdict> approve(approval_subject& subject, std::uint64_t after) override {
        subject.id = ++asked;
        behind.push_back(after);
        subjects.push_back(subject);
        if (answers.empty()) co_return detail::verdict{decision::accept()};
        auto said = std::move(answers.front());
        answers.pop_front();
        co_return said;
    }

    void ended(approval_subject const& subject, detail::action_outcome const& how) override {
        outcomes[subject.id] = how;
    }

    asio::awaitable<result<mcp::call_result>> call(approval_subject const& subject, mcp::raw_json arguments,
                                                   mcp::call_options options) override {
        called.push_back(subject.tool + arguments.text());
        asks_for_progress = static_cast<bool>(options.on_progress);
        if (subject.tool == "reports" && options.on_progress)
            for (int done = 1; done <= 100; ++done)
                options.on_progress({double(done), 100, done == 100 ? std::string(10'000, 'x') : "some"});
        if (subject.tool == "slow") {
            asio::steady_timer forever(executor, 1h);
            asio::error_code stopped;
            co_await forever.async_wait(asio::redirect_error(asio::use_awaitable, stopped));
            co_return failure(errc::cancelled, "the call was cancelled");
        }
        if (subject.tool == "missing") co_return failure(errc::mcp_server_unknown, "no such server");
        mcp::call_result returned;
        returned.is_error = subject.tool == "verbose";
        auto text = subject.tool + " was called";
        if (returned.is_error) text.resize(std::size_t(130) << 20, '"'); // each of which is two bytes of JSON
        returned.content.emplace_back(mcp::content::text{std::move(text)});
        co_return returned;
    }

    asio::awaitable<result<mcp::raw_json>> ask(std::string const& server, mcp::server_query query) override {
        called.push_back(server + " " + std::string(to_string(query.what)) + " " + query.name +
                         (query.arguments ? query.arguments->text() : ""));
        if (query.name == "slow") {
            asio::steady_timer forever(executor, 1h);
            asio::error_code stopped;
            co_await forever.async_wait(asio::redirect_error(asio::use_awaitable, stopped));
            co_return failure(errc::cancelled, "the call was cancelled");
        }
        if (query.name == "missing") co_return failure(errc::mcp_refused, "no such resource\nat all");
        co_return mcp::raw_json::read(R"({"contents":[]})");
    }

    asio::awaitable<result<std::shared_ptr<running_program>>> run(program_run const& wanted,
                                                                  program_streams streams) override {
        runs.push_back(wanted);
        while (holds_starts) { // which cannot be stopped meanwhile
            asio::error_code woken;
            co_await released.async_wait(asio::redirect_error(asio::use_awaitable, woken));
        }
        if (wanted.argv.front() == "throws") throw std::runtime_error("no memory, say");
        if (wanted.argv.front() == "missing") co_return failure(errc::program_not_started, "missing: not found");
        std::string const text = "output of " + wanted.argv.front();
        REQUIRE(::write(streams.standard_output.get(), text.data(), text.size()) == ssize_t(text.size()));
        program = std::make_shared<scripted_program>(executor);
        co_return program;
    }

    asio::awaitable<result<void>> find_server(std::string server) override {
        if (server == "gone") co_return failure(errc::mcp_server_unknown, "no MCP server 'gone' is registered");
        co_return result<void>();
    }

    asio::awaitable<detail::package_states> packages(detail::package_request wanted) override {
        wanted_packages.push_back(wanted.server + (wanted.waits ? " waits" : ""));
        co_return detail::package_states{{"a", ""}, {"b", "does not start\nsecret"}};
    }

    asio::any_io_executor executor;
    std::vector<std::string> wanted_packages;
    std::uint64_t asked = 0;
    std::deque<detail::verdict> answers;
    std::vector<approval_subject> subjects;
    std::vector<std::uint64_t> behind; ///< these messages of the kernel
    std::map<std::uint64_t, detail::action_outcome> outcomes;
    std::vector<std::string> called;
    std::vector<program_run> runs;
    std::shared_ptr<scripted_program> program;

    void release_starts() {
        holds_starts = false;
        released.cancel();
    }
    bool holds_starts = false;
    bool asks_for_progress = false;
    asio::steady_timer released{executor, asio::steady_timer::time_point::max()};
};

/// A router, and the kernel's end of its channel.
struct stage {
    stage() {
        auto pair = os::make_stream_pair(1 << 20);
        REQUIRE(pair);
        raw = pair->theirs.get();
        kernel = std::make_unique<action_channel>(context.get_executor(), std::move(pair->theirs));
        router = std::make_shared<action_router>(context.get_executor(), std::move(pair->ours), host);
        router->start();
    }

    void send(json head, std::string body = {}) { REQUIRE(run(context, kernel->send({head.dump(), std::move(body)}))); }

    void call(int id, std::string tool, std::string arguments = "{}") {
        send({{"op", "call"}, {"id", id}, {"cell", "c"}, {"server", "s"}, {"tool", std::move(tool)}},
             std::move(arguments));
    }

    void ask(int id, std::string method, std::string name, std::string arguments = {}) {
        send({{"op", "ask"},
              {"id", id},
              {"cell", "c"},
              {"server", "docs"},
              {"method", std::move(method)},
              {"name", std::move(name)}},
             std::move(arguments));
    }

    void start(int id, std::string program) {
        send({{"op", "run"},
              {"id", id},
              {"cell", "c"},
              {"kind", "shell"},
              {"argv", {std::move(program)}},
              {"cwd", "/"}});
    }

    /// The head of the next answer; its body under "body".
    json answer() {
        auto frame = run(context, kernel->receive());
        REQUIRE(frame);
        auto head = json::parse(frame->head);
        if (!frame->body.empty()) head["body"] = frame->body;
        return head;
    }

    asio::io_context context;
    std::shared_ptr<scripted_host> host = std::make_shared<scripted_host>(context);
    std::unique_ptr<action_channel> kernel;
    int raw = -1; ///< its descriptor
    std::shared_ptr<action_router> router;
};

} // namespace

TEST_CASE("action router: a call that is accepted is done and answered") {
    stage on;
    on.call(1, "echo", R"({"x":1})");
    auto const answer = on.answer();
    CHECK(answer["op"] == "result");
    CHECK(answer["id"] == 1);
    CHECK(answer["body"] == "echo was called");
    CHECK(on.host->called == std::vector<std::string>{R"(echo{"x":1})"});
    REQUIRE(on.host->subjects.size() == 1);
    CHECK(on.host->subjects[0].kind == approval_subject::action::tool);
    CHECK(*on.host->subjects[0].arguments == nlohmann::ordered_json{{"x", 1}});
    CHECK(on.host->subjects[0].exact_arguments.empty());
    CHECK_FALSE(on.host->outcomes.at(1).failure);
    CHECK(on.host->outcomes.at(1).result_size == 15);
}

TEST_CASE("action router: a server is asked for what was approved") {
    stage on;
    on.ask(1, "resources/read", "file:///a");
    auto const answer = on.answer();
    CHECK(answer ==
          json{{"op", "result"}, {"id", 1}, {"text", false}, {"parts", json::array()}, {"body", R"({"contents":[]})"}});
    CHECK(on.host->outcomes.at(1).result_size == 15);
    on.ask(2, "prompts/list", "");
    (void)on.answer();
    on.host->answers.push_back({decision::accept(nlohmann::ordered_json{{"city", "Kiel"}})});
    on.ask(3, "prompts/get", "weather", R"({"city":"Köln"})");
    (void)on.answer();
    CHECK(on.host->called == std::vector<std::string>{"docs resources/read file:///a", "docs prompts/list ",
                                                      R"(docs prompts/get weather{"city":"Kiel"})"});

    REQUIRE(on.host->subjects.size() == 3);
    CHECK(on.host->subjects[0].kind == approval_subject::action::resource);
    CHECK(on.host->subjects[0].server == "docs");
    CHECK(on.host->subjects[0].uri == "file:///a");
    CHECK_FALSE(on.host->subjects[0].arguments);
    CHECK(on.host->subjects[1].kind == approval_subject::action::prompt);
    CHECK(on.host->subjects[1].prompt.empty());
    CHECK(on.host->subjects[2].prompt == "weather");
    CHECK(*on.host->subjects[2].arguments == nlohmann::ordered_json{{"city", "Köln"}});
}

TEST_CASE("action router: a server that is asked for nothing that it has, a rejection, a cancellation") {
    stage on;
    on.ask(1, "resources/read", "missing");
    auto const failed = on.answer();
    CHECK(failed["kind"] == "server");
    CHECK(failed["text"] == "no such resource\nat all"); // the server's words come whole
    CHECK(on.host->outcomes.at(1).failure == errc::mcp_refused);
    on.host->answers.push_back({decision::reject("not this")});
    on.ask(2, "resources/list", "");
    CHECK(on.answer()["kind"] == "rejected");
    CHECK(on.host->called.size() == 1);
    on.ask(3, "resources/read", "slow");
    on.send({{"op", "cancel"}, {"id", 3}});
    CHECK(on.answer()["kind"] == "cancelled");
}

TEST_CASE("action router: who decides sees all digits that the tool gets") {
    stage on;
    auto const* const paid = R"({"amount":100.0000000000000000001,"to":"x"})";
    on.call(1, "echo", paid);
    CHECK(on.answer()["op"] == "result");
    CHECK(on.host->called == std::vector<std::string>{std::string("echo") + paid});
    REQUIRE(on.host->subjects.size() == 1);
    CHECK(on.host->subjects[0].exact_arguments == paid);
}

TEST_CASE("action router: reports go to a kernel that asks for them, the last one before the answer") {
    stage on;
    on.call(1, "reports");
    CHECK(on.answer()["op"] == "result");
    CHECK_FALSE(on.host->asks_for_progress);

    on.send({{"op", "call"}, {"id", 2}, {"cell", "c"}, {"server", "s"}, {"tool", "reports"}, {"progress", true}}, "{}");
    std::vector<json> reports;
    for (auto next = on.answer();; next = on.answer()) {
        if (next["op"] == "result") break;
        CHECK(next["op"] == "progress");
        CHECK(next["id"] == 2);
        reports.push_back(std::move(next));
    }
    REQUIRE_FALSE(reports.empty());
    CHECK(reports.size() < 100);
    CHECK(reports.back()["done"] == 100);
    CHECK(reports.back()["total"] == 100);
    CHECK(reports.back()["message"].get<std::string>().size() == 4096);

    on.send({{"op", "call"}, {"id", 3}, {"cell", "c"}, {"server", "s"}, {"tool", "t"}, {"progress", "yes"}}, "{}");
    CHECK(on.answer()["kind"] == "request");
}

TEST_CASE("action router: other handlers run while a large request is read") {
    stage on;
    std::string head = R"({"op":"call","id":1,"cell":"c","server":"s","tool":"t"})";
    std::string body = R"({"text":")" + std::string(32'000'000, 'x') + R"("})";
    asio::co_spawn(on.context, on.kernel->send({std::move(head), body}), asio::detached);
    test::turns each(on.context);
    REQUIRE(each.until([&] { return !on.host->called.empty(); }));
    CHECK(each.longest_part() < 0.25);
    CHECK((on.host->called.front() == "t" + body));
}

TEST_CASE("action router: who decides is told which message came before") {
    stage on;
    on.send({{"op", "call"}, {"id", 1}, {"cell", "c"}, {"server", "s"}, {"tool", "t"}, {"after", 17}}, "{}");
    (void)on.answer();
    CHECK(on.host->behind == std::vector<std::uint64_t>{17});
}

TEST_CASE("action router: edited arguments are what the tool gets") {
    stage on;
    on.host->answers.push_back(detail::verdict{decision::accept(json{{"x", 2}})});
    on.call(1, "echo", R"({"x":1})");
    (void)on.answer();
    CHECK(on.host->called == std::vector<std::string>{R"(echo{"x":2})"});
}

TEST_CASE("action router: a line that is accepted for its commands is run as it was understood") {
    stage on;
    auto const runs = [&on](action_id id, decision how, std::string const& line) {
        on.host->answers.push_back(detail::verdict{std::move(how), error::decider::rule});
        json const argv{"sh", "-c", line};
        on.send({{"op", "run"}, {"id", id}, {"cell", "c"}, {"kind", "shell"}, {"cwd", "/"}, {"argv", argv}});
        auto const answer = on.answer();
        return answer["op"] == "started" ? on.host->runs.back().argv.back() : answer["kind"].get<std::string>();
    };
    CHECK(runs(1, decision::accept(), "ls *.py{x}") == "ls *.py{x}");
    CHECK(runs(2, decision::accept_commands(), "ls *.py 'a'") == "'ls' *.py 'a'");
    CHECK(runs(3, decision::accept_commands(), "ls {x}>/dev/null") == "rejected");
    CHECK(on.host->runs.size() == 2);
}

TEST_CASE("action router: a call of a server that is gone fails before anyone is asked") {
    stage on;
    on.send({{"op", "call"}, {"id", 1}, {"cell", "c"}, {"server", "gone"}, {"tool", "t"}}, "{}");
    auto const answer = on.answer();
    CHECK(answer["kind"] == "server");
    CHECK(answer["text"] == "no MCP server 'gone' is registered");
    CHECK(on.host->asked == 0);
}

TEST_CASE("action router: packages are waited for without a question") {
    stage on;
    on.send({{"op", "packages"}, {"id", 1}, {"server", ""}, {"wait", true}});
    auto const answer = on.answer();
    CHECK(answer["op"] == "result");
    CHECK(answer["text"] == false);
    CHECK(json::parse(answer["body"].get<std::string>()) == json{{"a", nullptr}, {"b", "does not start"}});
    on.send({{"op", "packages"}, {"id", 2}, {"server", "b"}, {"wait", false}});
    CHECK(on.answer()["id"] == 2);
    CHECK(on.host->wanted_packages == std::vector<std::string>{" waits", "b"});
    CHECK(on.host->asked == 0);
    on.send({{"op", "packages"}, {"id", 3}});
    CHECK(on.answer()["kind"] == "request");
}

TEST_CASE("action router: what is rejected is not done") {
    stage on;
    on.host->answers.push_back(detail::verdict{decision::reject("not today")});
    on.host->answers.push_back(detail::verdict{decision::reject("too late"), error::decider::timeout});
    on.call(1, "echo");
    auto const rejected = on.answer();
    CHECK(rejected["kind"] == "rejected");
    CHECK(rejected["text"].get<std::string>().find("not today") != std::string::npos);
    on.start(2, "rm");
    CHECK(on.answer()["kind"] == "approval_timeout");
    CHECK(on.host->called.empty());
    CHECK(on.host->runs.empty());
    CHECK(on.host->outcomes.empty());
}

TEST_CASE("Q11 action router: a slow call holds up no other, and can be cancelled") {
    stage on;
    on.call(1, "slow");
    on.call(2, "echo");
    CHECK(on.answer()["id"] == 2);
    on.send({{"op", "cancel"}, {"id", 1}});
    auto const cancelled = on.answer();
    CHECK(cancelled["id"] == 1);
    CHECK(cancelled["kind"] == "cancelled");
    on.send({{"op", "cancel"}, {"id", 1}}); // too late: nothing
    on.call(3, "echo");
    CHECK(on.answer()["id"] == 3);
}

TEST_CASE("action router: calls of tools end with their cell, programs go on") {
    stage on;
    on.call(1, "slow");
    on.start(2, "sleep");
    CHECK(on.answer()["op"] == "started");
    on.router->end_calls();
    auto const ended = on.answer();
    CHECK(ended["id"] == 1);
    CHECK(ended["kind"] == "cancelled");
    CHECK(ended["text"] == "the call ended with its cell: wait for it there");
    CHECK(on.host->outcomes.at(1).failure == errc::cancelled);
    on.router->end_calls();
    on.call(3, "echo"); // of the next cell
    CHECK(on.answer()["id"] == 3);
    CHECK(on.host->outcomes.count(2) == 0);
}

TEST_CASE("W6 action router: what is malformed is answered, and does no harm") {
    stage on;
    on.send({{"op", "approve"}, {"id", 1}});
    CHECK(on.answer()["kind"] == "request");
    on.send(json::array());
    CHECK(on.answer()["id"] == nullptr);
    std::string sizes; // of a frame that has room for no head, and of one whose head is longer than itself
    append_u32(sizes, 0);
    append_u32(sizes, 4);
    append_u32(sizes, 1000);
    REQUIRE(::send(on.raw, sizes.data(), sizes.size(), MSG_NOSIGNAL) == ssize_t(sizes.size()));
    for (int i = 0; i < 2; ++i) {
        auto const answer = on.answer();
        CHECK(answer["id"] == nullptr);
        CHECK(answer["kind"] == "request");
    }
    on.call(5, "slow");
    on.call(5, "echo");
    auto const twice = on.answer();
    CHECK(twice["id"] == 5);
    CHECK(twice["kind"] == "request");
    on.call(6, "echo");
    CHECK(on.answer()["op"] == "result");
}

TEST_CASE("action router: a failing server") {
    stage on;
    on.call(1, "missing");
    auto const answer = on.answer();
    CHECK(answer["kind"] == "server");
    CHECK(answer["text"] == "no such server");
    CHECK(on.host->outcomes.at(1).failure == errc::mcp_server_unknown);
}

TEST_CASE("action router: an answer that no kernel would take is not sent", "[large]") {
    stage on;
    on.call(1, "verbose");
    CHECK(on.answer()["text"] == "the answer is larger than 256 MiB");
    on.call(2, "echo");
    CHECK(on.answer()["op"] == "result");
}

TEST_CASE("action router: a program starts, and ends by itself") {
    stage on;
    on.start(1, "ls");
    auto const started = on.answer();
    CHECK(started == json{{"op", "started"}, {"id", 1}, {"descriptors", 2}});
    on.host->program->end({4, std::nullopt});
    CHECK(on.answer() == json{{"op", "exited"}, {"id", 1}, {"code", 4}, {"signal", nullptr}});
    CHECK(on.host->outcomes.at(1).status == exit_status{4, std::nullopt});
    on.start(2, "missing");
    CHECK(on.answer()["kind"] == "exec");
}

TEST_CASE("action router: starts that throw are answered, and hold up no other") {
    stage s;
    for (int id = 1; id <= 40; ++id) { // more than may be started at the same time
        s.start(id, "throws");
        auto const answer = s.answer();
        CHECK(answer["id"] == id);
        CHECK(answer["op"] == "error");
    }
    s.start(41, "sh");
    CHECK(s.answer()["id"] == 41);
    REQUIRE(s.host->program);
}

TEST_CASE("action router: a program that is cancelled is interrupted, then killed") {
    for (bool const minds : {true, false}) {
        stage on;
        on.start(1, "sleep");
        CHECK(on.answer()["op"] == "started");
        auto const program = on.host->program;
        program->minds_interrupts = minds;
        on.send({{"op", "cancel"}, {"id", 1}});
        auto const exited = on.answer();
        CHECK(exited["op"] == "exited");
        CHECK(exited["signal"] == (minds ? SIGINT : SIGKILL));
        CHECK(program->signals == (std::vector<int>{SIGINT, SIGKILL}));
    }
}

TEST_CASE("action router: a program that cannot be interrupted is killed") {
    stage on;
    on.start(1, "sleep");
    CHECK(on.answer()["op"] == "started");
    auto const program = on.host->program;
    program->throwing = {SIGINT};
    on.send({{"op", "cancel"}, {"id", 1}});
    CHECK(on.answer()["signal"] == SIGKILL);
    CHECK(program->signals == (std::vector<int>{SIGINT, SIGKILL}));
}

TEST_CASE("action router: the channel ends with a program that cannot be killed either") {
    stage on;
    on.start(1, "sleep");
    CHECK(on.answer()["op"] == "started");
    on.host->program->throwing = {SIGINT, SIGKILL};
    on.send({{"op", "cancel"}, {"id", 1}});
    CHECK_FALSE(run(on.context, on.kernel->receive()));
}

TEST_CASE("action router: a program that is cancelled while it is being started is ended when it runs") {
    stage on;
    on.host->holds_starts = true;
    on.start(1, "sleep");
    on.send({{"op", "cancel"}, {"id", 1}});
    on.context.restart();
    on.context.run_for(50ms);
    on.host->release_starts();
    CHECK(on.answer()["op"] == "started");
    CHECK(on.answer()["signal"] == SIGINT);
}

TEST_CASE("action router: a program is made to end once, however often that is asked for") {
    stage on;
    on.start(1, "sleep");
    CHECK(on.answer()["op"] == "started");
    auto const program = on.host->program;
    program->minds_interrupts = false;
    for (int i = 0; i < 1000; ++i) on.send({{"op", "cancel"}, {"id", 1}});
    CHECK(on.answer()["op"] == "exited");
    CHECK(program->signals == (std::vector<int>{SIGINT, SIGKILL}));
}

TEST_CASE("action router: a kernel that sends without reading is not read for ever, and its end is quick") {
    stage on;
    auto const before = std::chrono::steady_clock::now();
    std::string const malformed = bytes_before_body({"[]"});
    std::string flood;
    while (flood.size() < 1 << 20) flood += malformed;
    auto const sent = [&](std::string const& bytes) {
        std::size_t taken = 0;
        for (int idle = 0; idle < 3;) {
            auto const count = ::send(on.raw, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            idle = count > 0 ? 0 : idle + 1;
            taken += count > 0 ? std::size_t(count) : 0;
            if (taken > std::size_t(64) << 20) break;
            on.context.restart();
            on.context.run_for(20ms);
        }
        return taken;
    };
    CHECK(sent(flood) < std::size_t(16) << 20);
    on.kernel->close();
    on.context.restart();
    on.context.run_for(10s);
    CHECK(std::chrono::steady_clock::now() - before < 5s);
}

TEST_CASE("action router: so many requests may wait, and so many bytes of them", "[large]") {
    stage on;
    for (int id = 1; id <= 1000; ++id) on.call(id, "slow");
    on.call(1001, "echo");
    CHECK(on.answer()["text"] == "too many actions wait for their answers");

    stage with_values;
    std::string many = "{\"x\":[0";
    for (int i = 0; i < 90'000; ++i) many += ",0";
    many += "]}";
    for (int id = 1; id <= 23; ++id) with_values.call(id, "slow", many); // 5.7 MiB each
    CHECK(with_values.answer()["text"] == "the actions that wait for their answers are too large together");
    with_values.send({{"op", "cancel"}, {"id", 1}});
    CHECK(with_values.answer()["kind"] == "cancelled");
    with_values.call(100, "echo");
    CHECK(with_values.answer()["op"] == "result");
}

namespace {

std::ptrdiff_t open_descriptors() {
    auto const all = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

} // namespace

TEST_CASE("action router: a kernel that does not read its programs' descriptors gets no more of them") {
    stage on;
    auto const before = open_descriptors();
    auto most = before;
    for (int id = 1; id <= 900; ++id) {
        on.start(id, "true");
        on.context.restart();
        on.context.run_for(1ms);
        most = std::max(most, open_descriptors());
    }
    auto const started = on.host->runs.size();
    CHECK(started >= 16);
    CHECK(started < 450); // what the socket holds, and 16
    CHECK(most - before < 16 * 5);

    // One that reads gets them all.
    for (int id = 1; id <= 900; ++id) REQUIRE(on.answer()["op"] == "started");
    CHECK(on.host->runs.size() == 900);
}

TEST_CASE("action router: a program that waits for its start can be cancelled, and others still start") {
    stage on;
    on.host->holds_starts = true;
    for (int id = 1; id <= 20; ++id) on.start(id, "true");
    for (int id = 17; id <= 19; ++id) on.send({{"op", "cancel"}, {"id", id}});
    for (int id = 17; id <= 19; ++id) CHECK(on.answer()["kind"] == "cancelled");
    CHECK(on.host->runs.size() == 16);
    on.host->release_starts();
    for (int started = 0; started < 17; ++started) CHECK(on.answer()["op"] == "started");
    CHECK(on.host->runs.size() == 17);
}

TEST_CASE("action router: an end of file cancels what is under way") {
    stage on;
    on.call(1, "slow");
    on.kernel->close();
    on.context.restart();
    on.context.run_for(10s); // runs dry: the call was cancelled, nothing waits any more
    CHECK(on.host->outcomes.at(1).failure == errc::cancelled);
}

TEST_CASE("action router: when the host has ended there is nobody to ask") {
    stage on;
    on.host.reset();
    on.call(1, "echo");
    CHECK(on.answer()["kind"] == "unavailable");
}
