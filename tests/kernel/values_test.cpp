#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <string>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using nlohmann::ordered_json;

/// The value of a cell as text, or why there is none.
template <class Box>
std::string value_of(Box& box, std::string code) {
    auto const r = box->execute(std::move(code), {.want_value = true});
    if (!r) return text_of(r);
    return r->value ? r->value.text() : "<" + r->value_missing + ">";
}

template <class Box>
std::string got_from(Box& box, std::string name) {
    auto const v = box->get(std::move(name));
    if (v) return v->text();
    return v.error().exception() ? v.error().exception()->evalue : v.error().text();
}

template <class Box>
void check_values(Box& box) {
    CHECK(value_of(box, "1 + 1") == "2");
    CHECK(value_of(box, "{'z': [1, 2.5, None, True], 'a': 'ä€'}") == R"({"z":[1,2.5,null,true],"a":"ä€"})");
    CHECK(value_of(box, "10**40") == "1" + std::string(40, '0'));
    CHECK(value_of(box, "x = 1") == "<the code does not end with an expression that has a value>");
    CHECK(value_of(box, "None") == "<the code does not end with an expression that has a value>");
    CHECK(value_of(box, "") == "<the code does not end with an expression that has a value>");
    CHECK(value_of(box, "{1}") == "<not JSON: a value of type set>");
    CHECK(contains(value_of(box, "[float('nan')]"), "not JSON: Out of range float"));
    CHECK(contains(value_of(box, "1/0"), "ZeroDivisionError"));
    CHECK(value_of(box, "import asyncio\nawait asyncio.sleep(0, 'awaited')") == "\"awaited\"");
    CHECK(value_of(box, "'x' * ((1 << 20) - 2)").size() == 1 << 20);
    CHECK(value_of(box, "'x' * ((1 << 20) - 1)") == "<larger than 1 MiB as JSON>");
    CHECK(value_of(box, "'\"' * ((1 << 19) - 1)").size() == 1 << 20); // twice as long again within its message
    CHECK(contains(value_of(box, "[0] * 100_000"), "more than 100000 values"));
    CHECK(value_of(box, "[0] * 99_999").size() == 199'999);
    auto const both = box->execute("print('text')\n[1]", {.want_value = true});
    REQUIRE(both);
    CHECK(both->text == "text\n[1]");
    CHECK(*both->value == ordered_json::array({1}));
}

template <class Box>
void check_variables(Box& box) {
    CHECK(box->put("rows", {{{"name", "Ann"}, {"age", 31}}, {{"name", "Bob"}, {"age", 42}}}));
    CHECK(box.run("sum(r['age'] for r in rows), list(rows[0])") == "(73, ['name', 'age'])");
    CHECK(box.run("total = {'b': 73, 'a': 10**30}").empty());
    CHECK(got_from(box, "total") == "{\"b\":73,\"a\":1" + std::string(30, '0') + "}");
    CHECK(got_from(box, "nothing") == "name 'nothing' is not defined");
    CHECK(box->get("nothing").error() == errc::python_error);
    CHECK(box->put("none", nullptr));
    CHECK(**box->get("none") == nullptr);
    CHECK(box.run("n = {1, 2}").empty());
    CHECK(got_from(box, "n") == "not JSON: a value of type set");
    CHECK(box->get("n").error() == errc::invalid_argument);
    CHECK(box->put("text", "\"'\\\n\r\t\u2028 ä€😀"));
    CHECK(**box->get("text") == "\"'\\\n\r\t\u2028 ä€😀");
    CHECK(box->put("n", nlohmann::json{{"b", 1}, {"a", 2}}));
    CHECK(got_from(box, "n") == R"({"a":2,"b":1})");
    std::string const longest(std::size_t((1 << 20) - 2), 'x');
    CHECK(box->put("n", longest));
    CHECK(box.run("len(n)") == std::to_string(longest.size()));
    CHECK(box->get("n")->text().size() == 1 << 20);
    CHECK(box->put("n", longest + "x").error() == errc::invalid_argument);
    CHECK(box.run("n += 'x'").empty());
    CHECK(got_from(box, "n") == "larger than 1 MiB as JSON");
}

} // namespace

TEMPLATE_TEST_CASE("values: of the last expression", "[kernel][compat]", socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    check_values(box);
}

TEMPLATE_TEST_CASE("values: variables are got and put", "[kernel][compat]", socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    check_variables(box);
}

TEST_CASE("values: with a kernel that is not Python there is a reason", "[kernel][bash]") {
    scratch_dir specs;
    specs.write("bash/kernel.json", R"({"argv": [")" + python().string() +
                                        R"(", "-m", "bash_kernel", "-f", "{connection_file}"],
        "display_name": "Bash", "language": "bash", "env": {"PS1": "$"}})");
    zmq_transport::options how;
    how.kernelspec = "bash";
    how.kernelspec_dirs = {specs.path()};
    scratch_dir const dir;
    basic_executor box(options_in(dir.path()), deny_approval(), no_sandbox(), zmq_transport(how));
    auto const said = box.execute("echo 1", {.want_value = true});
    if (!said) FAIL(said.error().text());
    CHECK_FALSE(said->value);
    CHECK(contains(said->value_missing, "the kernel evaluates no expressions"));
    CHECK(box.get("x").error() == errc::ipykernel_unsupported);
    CHECK(box.put("x", 1).error() == errc::ipykernel_unsupported);
}

TEST_CASE("values: scalars of NumPy, and code that is in the way", "[kernel]") {
    kernel_box box;
    CHECK(value_of(box, "import numpy as np\n[np.int64(3), np.float32(0.5), np.bool_(True)]") == "[3,0.5,true]");
    CHECK(value_of(box, "2;") == "<the code does not end with an expression that has a value>");
    CHECK(value_of(box, "np.zeros(3)") == "<not JSON: a value of type ndarray>");
    CHECK(value_of(box, "class Loud:\n    def __repr__(self): print('asked')\n[{Loud()}][0] and {'a': 1}") ==
          "{\"a\":1}");
    CHECK(value_of(box, "class D(dict):\n    def items(self): raise OSError('x')\nD(a=1)") ==
          "<not JSON: OSError was raised>");
    // The cell has succeeded, whatever becomes of its value.
    CHECK(value_of(box, "class E(dict):\n    def items(self): raise KeyboardInterrupt\nE(a=1)") ==
          "<KeyboardInterrupt>");
    CHECK(value_of(box, "type = exec = json = sys = get_ipython = str = len = None\n1") == "1"); // names of variables
    CHECK(value_of(box, "__import__ = None\n1") == "<TypeError: 'NoneType' object is not callable>");
    CHECK(value_of(box, "del __import__, type, exec, str, len\n2") == "2");
    CHECK(value_of(box, "import sys\nsys.modules['_ipybox_values'].last = None\n3") ==
          "<TypeError: 'NoneType' object is not callable>");
    CHECK(value_of(box, "del sys.modules['_ipybox_values']\n4") == "4");
}

TEST_CASE("values: what never comes to an end has a bound", "[kernel]") {
    kernel_box box([](executor_options& o) {
        o.kernel.interrupt_grace = 500ms;
        o.kernel.value_timeout = 300ms;
    });
    auto const code = "class D(dict):\n    def items(self):\n        while True: pass\nD(a=1)";
    auto const timed = box->execute(code, {.timeout = 200ms, .want_value = true});
    REQUIRE_FALSE(timed);
    CHECK(timed.error() == condition::timeout);
    CHECK(box.run("x = D(a=1)").empty());
    CHECK(box->get("x").error() == condition::timeout);
    auto x = box->async_get("x", asio::use_future);
    box->cancel();
    CHECK(x.get().error() == condition::cancelled);
    CHECK(box->put("y", 1));
}

TEST_CASE("values: they are no cells, and wait their turn", "[kernel]") {
    kernel_box box;
    auto slow = box->submit("import time\ntime.sleep(.2)\nz = 5");
    CHECK(**box->get("z") == 5);
    CHECK(slow.state() == job::stage::ended);
    CHECK(box->put("w", 1));
    auto const failed = box->execute("1/0");
    std::string traceback;
    for (auto const& line : failed.error().exception()->traceback) traceback += line;
    CHECK(contains(traceback, "Cell In[2]"));
    CHECK(box.run("'x'") == "'x'");
    CHECK(**box->get("z") == 5);
    CHECK(box.run("_") == "'x'");
}

TEST_CASE("values: output of threads is left to the next execution", "[kernel]") {
    kernel_box box;
    // What comes before the end of the first cell is its own.
    auto const begun = box.run("import threading, time\ndef talk():\n"
                               "    for i in range(20): print(f'line {i}\\n', end='', flush=True); time.sleep(.01)\n"
                               "t = threading.Thread(target=talk)\nprint('begun')\nt.start()\nx = 1");
    for (int i = 0; i < 20; ++i) CHECK(**box->get("x") == 1);
    auto const rest = box.run("t.join()");
    std::string all = "begun\n";
    for (int i = 0; i < 20; ++i) all += "line " + std::to_string(i) + "\n";
    CHECK(begun + "\n" + rest + "\n" == all);
}

TEST_CASE("values: in coroutines", "[kernel]") {
    asio::io_context io;
    scratch_dir const dir;
    auto box = std::make_unique<basic_executor<socketpair_transport, no_sandbox, deny_approval>>(
        io.get_executor(), options_in(dir.path()));
    std::string text;
    auto const work = [&]() -> asio::awaitable<void> {
        ordered_json const wanted = {{"a", 1}};
        auto const put = co_await box->async_put("x", wanted);
        auto const x = co_await box->async_get("x");
        if (put && x) text = x->text();
        box.reset();
    };
    auto done = asio::co_spawn(io, work, asio::use_future);
    io.run_for(60s);
    done.get();
    CHECK(text == R"({"a":1})");
}
