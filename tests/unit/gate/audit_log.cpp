#include <ipybox/gate/audit_log.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/rules/grant.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using ipybox::approval_subject;
using ipybox::audit_log;
using ipybox::decision;
using ipybox::errc;
using ipybox::error;
using ipybox::test::contains;
using ipybox::test::json_lines;
using nlohmann::json;

std::shared_ptr<audit_log> opened(audit_log::options options) {
    auto log = audit_log::open(std::move(options));
    if (!log) FAIL(log.error().text());
    return *log;
}

approval_subject search_call() {
    return {.id = 7,
            .server = "github",
            .tool = "search",
            .arguments = std::make_shared<nlohmann::ordered_json const>(nlohmann::ordered_json{{"q", "x"}}),
            .code = "search(q='x')",
            .cell_id = "c1"};
}

} // namespace

TEST_CASE("audit_log: request, decision and outcome of a tool call") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const noon = std::chrono::sys_days(std::chrono::year(2024) / 2 / 29) + 12h + 3min + 4s + 56ms + 999us;
    auto const log = opened({.file = file, .clock = [noon] { return noon; }});

    CHECK(log->request(search_call()));
    auto const edited = decision::accept(json{{"q", "y"}}).and_grant(ipybox::grant::tool("github.*").at_most(2));
    CHECK(log->decision(7, {edited, error::decider::policy, "", 3, 1500us}));
    CHECK(log->outcome(7, {.duration = 20ms, .result_size = 42}));

    auto const all = json_lines(file);
    REQUIRE(all.size() == 3);
    auto const run = all[0]["run"].get<std::string>();
    CHECK(run.size() == 16);
    auto const expected = [&run](json record) {
        record.update({{"run", run}, {"id", 7}, {"time", "2024-02-29T12:03:04.056Z"}});
        return record;
    };
    auto const digest = "47374920e9800d9eb12a41e5c9578f882bfcf095bed020bb541760048ac36406";
    CHECK(all[0] == expected({{"record", "request"},
                              {"kind", "tool"},
                              {"server", "github"},
                              {"tool", "search"},
                              {"arguments", {{"q", "x"}}},
                              {"cell", "c1"},
                              {"code", "search(q='x')"},
                              {"code_sha256", digest}}));
    CHECK(all[1] == expected({{"record", "decision"},
                              {"decision", "accept"},
                              {"by", "policy"},
                              {"waited_ms", 1.5},
                              {"arguments", {{"q", "y"}}},
                              {"grant", {{"tool", "github.*"}, {"uses", 2}}},
                              {"grant_number", 3}}));
    CHECK(all[2] ==
          expected({{"record", "outcome"}, {"outcome", "done"}, {"result_bytes", 42}, {"duration_ms", 20.0}}));
}

TEST_CASE("audit_log: a record counts when it is on the disk, if that is wanted") {
    // A device that takes records, and cannot bring them to a disk.
    approval_subject const call{.id = 1, .kind = approval_subject::action::tool, .server = "s", .tool = "t"};
    CHECK(opened({.file = "/dev/null"})->request(call));
    auto const recorded = opened({.file = "/dev/null", .sync = true})->request(call);
    REQUIRE_FALSE(recorded);
    CHECK(recorded.error() == errc::audit_failed);
    CHECK(contains(recorded.error().text(), "syncing the audit log /dev/null"));
}

TEST_CASE("audit_log: a command, rejected or run") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const log = opened({.file = file, .sync = true});
    approval_subject const shell{.id = 8,
                                 .kind = approval_subject::action::shell_magic,
                                 .argv = {"bash", "-e", "\xff"},
                                 .cwd = "/work",
                                 .env = {{"A", "1"}, {"B", std::nullopt}},
                                 .input = "ls\n"};
    CHECK(log->request(shell));
    CHECK(log->decision(8, {decision::reject("no\xfe"), error::decider::rule, "deny[2]"}));
    CHECK(log->outcome(8, {.failure = ipybox::make_error_code(errc::timed_out), .status = ipybox::exit_status{3, {}}}));
    CHECK(log->outcome(9, {.failure = ipybox::make_error_code(errc::approval_rejected), .why = "h leads to ::1"}));
    auto const all = json_lines(file);
    REQUIRE(all.size() == 4);
    CHECK(all[0]["kind"] == "shell_magic");
    CHECK(all[0]["argv"] == json::parse(R"(["bash","-e",{"base64":"/w=="}])")); // nothing is lost of what is no UTF-8
    CHECK(all[0]["cwd"] == "/work");
    CHECK(all[0]["env"] == json::parse(R"({"A":"1","B":null})"));
    CHECK(all[0]["input"] == "ls\n");
    CHECK_FALSE(all[0].contains("arguments"));
    CHECK(all[1]["decision"] == "reject");
    CHECK(all[1]["by"] == "rule");
    CHECK(all[1]["detail"] == "deny[2]");
    CHECK(all[1]["reason"] == json::parse(R"({"base64":"bm/+"})"));
    CHECK(all[2]["outcome"] == "failed");
    CHECK(all[2]["failure"] == "the time budget of the call ran out");
    CHECK(all[2]["exit_code"] == 3);
    CHECK(all[3]["failure"] == "h leads to ::1");
}

TEST_CASE("audit_log: the code of a cell is recorded once") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const log = opened({.file = file});
    auto subject = search_call();
    CHECK(log->request(subject));
    CHECK(log->request(subject));
    subject.code += " ";
    CHECK(log->request(subject));
    auto const all = json_lines(file);
    REQUIRE(all.size() == 3);
    CHECK(all[0].contains("code"));
    CHECK_FALSE(all[1].contains("code"));
    CHECK(all[1]["code_sha256"] == all[0]["code_sha256"]);
    CHECK(all[2].contains("code"));
    CHECK(all[2]["code_sha256"] != all[0]["code_sha256"]);
}

TEST_CASE("audit_log: the code of 1024 cells is known to be there, and of no more") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const log = opened({.file = file});
    auto const records_code_of = [&](int cell) {
        auto subject = search_call();
        subject.code = "cell " + std::to_string(cell);
        CHECK(log->request(subject));
        return json_lines(file).back().contains("code");
    };
    for (int i = 0; i < 1024; ++i) {
        auto subject = search_call();
        subject.code = "cell " + std::to_string(i);
        REQUIRE(log->request(subject));
    }
    CHECK_FALSE(records_code_of(0));
    CHECK(records_code_of(1024)); // the list begins anew
    CHECK(records_code_of(0));
}

TEST_CASE("audit_log: what is long is recorded as its length and digest") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const log = opened({.file = file, .longest_value = 20});
    auto subject = search_call();
    subject.arguments = std::make_shared<nlohmann::ordered_json const>(
        nlohmann::ordered_json{{"text", "12345678"}}); // {"text":"12345678"}: 19 bytes
    CHECK(log->request(subject));
    subject.arguments = std::make_shared<nlohmann::ordered_json const>(nlohmann::ordered_json{{"text", "1234567890"}});
    subject.input = "abc" + std::string(30, 'd');
    CHECK(log->request(subject));
    CHECK(log->decision(7, {decision::accept(*subject.arguments), error::decider::policy}));
    auto const all = json_lines(file);
    REQUIRE(all.size() == 3);
    CHECK(all[0]["arguments"] == json{{"text", "12345678"}});
    CHECK_FALSE(all[1].contains("arguments"));
    CHECK(all[1]["arguments_digest"] ==
          json{{"bytes", 21}, {"sha256", "1c7ef51022a222eef4876b9bc150643daa51d93f31eb3164382a7bfd984511e1"}});
    CHECK(all[1]["input_digest"]["bytes"] == 33);
    CHECK(all[2]["arguments_digest"] == all[1]["arguments_digest"]);
}

TEST_CASE("audit_log: a value of more than 4 KiB is long, if nothing else is said") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const log = opened({.file = file});
    auto const record_of = [&](std::size_t bytes) { // of arguments that are so long as JSON
        auto subject = search_call();
        nlohmann::ordered_json arguments{{"q", std::string(bytes - std::string_view(R"({"q":""})").size(), 'x')}};
        subject.arguments = std::make_shared<nlohmann::ordered_json const>(std::move(arguments));
        subject.input = std::string(bytes, 'y');
        subject.code = std::string(bytes, 'z');
        CHECK(log->request(subject));
        return json_lines(file).back();
    };
    auto const whole = record_of(4096);
    CHECK(whole["arguments"]["q"].get<std::string>().size() == 4088);
    CHECK(whole["input"].get<std::string>().size() == 4096);
    auto const digested = record_of(4097);
    CHECK_FALSE(digested.contains("arguments"));
    CHECK(digested["arguments_digest"]["bytes"] == 4097);
    CHECK_FALSE(digested.contains("input"));
    CHECK(digested["input_digest"]["bytes"] == 4097);
    CHECK(record_of(60'000).dump().size() < 2'000);
}

TEST_CASE("audit_log: is made for its owner alone, and appended to") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const mask = ::umask(0);
    auto log = opened({.file = file});
    ::umask(mask);
    struct stat status{};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK(log->outcome(1, {}));
    log = opened({.file = file});
    CHECK(log->outcome(1, {}));
    auto const all = json_lines(file);
    REQUIRE(all.size() == 2);
    CHECK(all[0]["run"] != all[1]["run"]); // ids are unique within a run
}

TEST_CASE("audit_log: a log that cannot be opened is an error") {
    ipybox::test::scratch_dir const scratch;
    auto const log = audit_log::open({.file = scratch.path() / "none" / "audit.jsonl"});
    REQUIRE_FALSE(log);
    CHECK(log.error() == errc::audit_failed);
    CHECK(contains(log.error().text(), "opening the audit log"));
    CHECK(contains(log.error().text(), "No such file"));
}

TEST_CASE("audit_log: a named pipe that is not read is an error, and not waited for") {
    ipybox::test::scratch_dir const scratch;
    auto const pipe = scratch.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    auto const unread = audit_log::open({.file = pipe});
    REQUIRE_FALSE(unread);
    CHECK(unread.error() == errc::audit_failed);

    ipybox::os::unique_fd const reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    CHECK(audit_log::open({.file = pipe}).has_value());
}

TEST_CASE("audit_log: a full disk is an error, or somebody is told") {
    auto const log = opened({.file = "/dev/full"});
    for (auto const& written : {log->request(search_call()),
                                log->decision(7, {decision::accept(), error::decider::policy}), log->outcome(7, {})}) {
        REQUIRE_FALSE(written);
        CHECK(written.error() == errc::audit_failed);
        CHECK(contains(written.error().text(), "writing the audit log /dev/full: No space left on device"));
    }
    std::vector<std::string> told;
    auto const telling =
        opened({.file = "/dev/full", .on_failure = [&told](ipybox::error const& e) { told.push_back(e.text()); }});
    CHECK(telling->request(search_call()));
    CHECK(telling->outcome(7, {}));
    CHECK(told.size() == 2);
}

TEST_CASE("audit_log: a record that could not be finished does not spoil the next one") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    // In a child: the limit on the size of files is one of the process.
    auto const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        auto log = audit_log::open({.file = file});
        bool good = log && (*log)->outcome(1, {});
        struct stat status{};
        ::stat(file.c_str(), &status);
        rlimit limit{};
        ::getrlimit(RLIMIT_FSIZE, &limit);
        auto const wide = limit.rlim_cur;
        limit.rlim_cur = static_cast<rlim_t>(status.st_size) + 10; // ten bytes of the next one
        ::setrlimit(RLIMIT_FSIZE, &limit);
        good = good && !(*log)->outcome(2, {}) && !(*log)->outcome(3, {});
        limit.rlim_cur = wide;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        good = good && (*log)->outcome(4, {});
        ::_exit(good ? 0 : 1);
    }
    int ended = 0;
    REQUIRE(::waitpid(child, &ended, 0) == child);
    CHECK(ended == 0);
    std::ifstream in(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    REQUIRE(lines.size() == 3);
    CHECK(json::parse(lines[0])["id"] == 1);
    CHECK(lines[1].size() == 10);
    CHECK(json::parse(lines[2])["id"] == 4);
}

TEST_CASE("audit_log: several threads and logs share a file, line by line", "[tsan]") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const shared = opened({.file = file});
    auto subject = search_call();
    subject.arguments =
        std::make_shared<nlohmann::ordered_json const>(nlohmann::ordered_json{{"text", std::string(20'000, 'x')}});
    constexpr int each = 50;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            auto const log = t % 2 ? shared : audit_log::open({.file = file}).value();
            for (int i = 0; i < each; ++i) {
                auto mine = subject;
                mine.code = std::to_string(i);
                (void)log->request(mine);
                (void)log->decision(7, {decision::accept(), error::decider::policy});
            }
        });
    }
    for (auto& thread : threads) thread.join();
    auto const all = json_lines(file); // each line is whole
    CHECK(all.size() == 4 * 2 * each);
}

TEST_CASE("audit_log: members of arguments have the order in which they are sent") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const log = opened({.file = file});
    auto call = search_call();
    auto const sorting =
        nlohmann::ordered_json::parse(R"({"sort": {"score": -1, "name": 1}, "find": {"b": 1, "a": 2}})");
    call.arguments = std::make_shared<nlohmann::ordered_json const>(sorting);
    CHECK(log->request(call));
    CHECK(log->decision(7, {decision::accept(sorting), error::decider::policy}));

    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);)
        CHECK(contains(line, R"("arguments":{"sort":{"score":-1,"name":1},"find":{"b":1,"a":2}})"));
}
