#include <ipybox/os/process.hpp>

#include <nlohmann/json.hpp>

#include <chrono>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

} // namespace

TEST_CASE("text beyond max_memory keeps its head and tail, and the whole is in a file", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.output.max_memory = 10'000; });
    auto const r = box->execute("for i in range(100_000): print('é', i)");
    REQUIRE(r);
    CHECK(r->text.size() < 11'000);
    CHECK(r->text.substr(0, 10) == "é 0\né 1\n");
    CHECK_THAT(r->text, Catch::Matchers::EndsWith("\né 99999"));
    CHECK_THAT(r->text, Contains("bytes left out") && Contains(r->spill_file.string()));
    CHECK_NOTHROW(nlohmann::json(r->text).dump()); // no character is cut in two
    auto const whole = read_file(r->spill_file);
    CHECK(std::count(whole.begin(), whole.end(), '\n') == 100'000);
    CHECK(r->spill_file.parent_path() == box.options().output.spill_dir);

    auto const small = box->execute("print('small')");
    REQUIRE(small);
    CHECK(small->spill_file.empty());
}

TEST_CASE("displays beyond max_memory go to files of their own", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.output.max_memory = 10'000; });
    auto const r = box->execute("for i in range(3): display({'text/html': str(i) * 6000}, raw=True)");
    REQUIRE(r);
    REQUIRE(r->displays.size() == 3);
    CHECK(r->displays[0].spill_file.empty());
    CHECK(r->displays[1].data.empty());
    CHECK(nlohmann::json::parse(read_file(r->displays[2].spill_file))["data"]["text/html"] == std::string(6000, '2'));
}

TEST_CASE("an image that cannot be saved is an error with all output", "[kernel]") {
    kernel_box<> box([](executor_options& o) { o.output.images_dir = "/proc/no/such/place"; });
    auto const r = box->execute("print('text')\ndisplay({'image/png': 'iVBORw0KGgo=', 'text/plain': 'dot'}, raw=True)");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::io_error);
    CHECK_THAT(r.error().text(), Contains("/proc/no"));
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "text\ndot");
    CHECK(r.error().output()->displays.at(0).data.find("image/png")->size() == 8);
    CHECK(box.run("1") == "1");
}

TEST_CASE("a full disk under the spill file is an error with head and tail", "[kernel]") {
    kernel_box<> box([](executor_options& o) {
        o.output.max_memory = 10'000;
        o.output.spill_dir = "/proc/no/such/place";
    });
    auto const r = box->execute("for i in range(100_000): print(i)");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::io_error);
    REQUIRE(r.error().output());
    CHECK_THAT(r.error().output()->text, Catch::Matchers::StartsWith("0\n1\n") && Catch::Matchers::EndsWith("\n99999"));
    CHECK(box.run("1") == "1");
}

TEST_CASE("code that is too long for a message is refused, and the kernel keeps its state", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("x = 7") == "");
    // Each of these is six characters of JSON.
    auto const r = box->execute(std::string(std::size_t(44) << 20, '\x01'));
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::message_too_large);
    CHECK_THAT(r.error().text(), Contains("pass data in a file"));
    CHECK(box.run("x") == "7");
}

TEST_CASE("code that is too long even as it is, is refused before it is escaped", "[kernel]") {
    kernel_box<> box;
    auto const longest = std::size_t(256) << 20;
    auto const r = box->execute(std::string(longest + 1, '\n'));
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::message_too_large);
    // Escaped, it would have twice as many.
    CHECK_THAT(r.error().text(), Contains("has " + std::to_string(longest + 1) + " bytes"));
    CHECK(box.run("1") == "1");
}

TEST_CASE("a line of input that is too long is a refusal", "[kernel]") {
    kernel_box<> box;
    execute_options options;
    options.on_input = [](input_request const& q) { q.reply(std::string(input_request::longest_line + 1, '\x01')); };
    auto const r = box->execute("try: input()\nexcept EOFError: print('refused')", options);
    CHECK(text_of(r) == "refused");
    options.on_input = [](input_request const& q) { q.reply(std::string(input_request::longest_line, '\x01')); };
    CHECK(text_of(box->execute("print(len(input()))", options)) == std::to_string(input_request::longest_line));
}

TEST_CASE("a kernel that breaks the protocol is ended", "[kernel]") {
    // Hostile code finds the stream socket among its descriptors and writes what it likes.
    std::string const find =
        "import os, socket, stat\nfds = []\nfor n in os.listdir('/proc/self/fd'):\n    try:\n        s = "
        "os.fstat(int(n))\n        if stat.S_ISSOCK(s.st_mode): fds.append(int(n))\n    except OSError: pass\n";
    for (std::string const bytes :
         {"b'\\xff\\xff\\xff\\xff'", "b'\\x06\\x00\\x00\\x00\\x09\\x04aaaa'",
          "b'\\x02\\x00\\x00\\x00\\x00\\x04' + b'x' * 5000", "b'\\x02\\x00\\x00\\x00\\x00\\x00' * 100"}) {
        INFO(bytes);
        kernel_box<> box;
        auto const r = box->execute(find + "for fd in fds: os.write(fd, " + bytes + ")\nimport time\ntime.sleep(60)",
                                    {.timeout = std::chrono::seconds(10)});
        REQUIRE_FALSE(r);
        CHECK((r.error() == errc::protocol_error || r.error() == errc::message_too_large));
        REQUIRE(box->reset());
        CHECK(box.run("1") == "1");
    }
}

TEST_CASE("options that cannot be used are typed errors", "[kernel]") {
    SECTION("no such working directory") {
        kernel_box<> box([](executor_options& o) { o.working_dir = "/no/such/directory"; });
        auto const r = box->start();
        REQUIRE_FALSE(r);
        CHECK_THAT(r.error().text(), Contains("/no/such/directory"));
    }
    SECTION("no such interpreter") {
        kernel_box<> box([](executor_options& o) { o.kernel.python = "/no/such/python"; });
        auto const r = box->start();
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::python_not_found);
        CHECK(r.error() == condition::cannot_start);
        CHECK_THAT(r.error().text(), Contains("/no/such/python"));
    }
    SECTION("an interpreter without ipykernel") {
        scratch_dir dir;
        launch_spec venv{.argv = {python().string(), "-m", "venv", "--without-pip", "bare"},
                         .env = {{"PATH", "/usr/bin:/bin"}},
                         .working_dir = dir.path()};
        auto made = os::start_process(venv, {});
        REQUIRE(made);
        auto const end = made->wait(std::chrono::seconds(60));
        REQUIRE((end && end->code == 0));
        auto const bare = (dir.path() / "bare/bin/python").string();
        kernel_box<> box([&](executor_options& o) { o.kernel.python = bare; });
        auto const r = box->start();
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::ipykernel_missing);
        CHECK(r.error() == condition::cannot_start);
        CHECK_THAT(r.error().text(), Contains(bare) && Contains("pip install ipykernel"));
    }
    SECTION("a name that no environment variable has") {
        for (std::string const name : {"A=B", ""}) {
            kernel_box<> box([&](executor_options& o) { o.kernel.env[name] = "1"; });
            auto const r = box->start();
            REQUIRE_FALSE(r);
            CHECK_THAT(r.error().text(), Contains("not an environment variable: '" + name + "'"));
        }
    }
    SECTION("a program that is no interpreter") {
        kernel_box<> box([](executor_options& o) { o.kernel.python = "/bin/true"; });
        auto const r = box->start();
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::kernel_start_failed);
    }
}

TEMPLATE_TEST_CASE("a kernel that gives no sign of life is waited for as long as it was said", "[kernel]",
                   socketpair_transport, zmq_transport) {
    auto const bound = std::chrono::milliseconds(300);
    kernel_box<TestType, mute_sandbox> box([&](executor_options& o) { o.kernel.init_timeout = bound; });
    auto const before = std::chrono::steady_clock::now();
    auto const r = box->start();
    auto const took = std::chrono::steady_clock::now() - before;
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::kernel_unresponsive);
    CHECK(took >= bound);
    CHECK(took < bound + std::chrono::seconds(2));
}
