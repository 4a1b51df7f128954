#include <ipybox/kernel/interpreter.hpp>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

std::string joined(error const& e) {
    std::string text;
    REQUIRE(e.exception());
    for (auto const& line : e.exception()->traceback) text += line + "\n";
    return text;
}

} // namespace

// The cases that every transport has to pass: the forked kernel, and stock ipykernel over ZeroMQ.

TEMPLATE_TEST_CASE("a session keeps its state", "[kernel][compat]", socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    CHECK(box.run("x = 20\ndef twice(v): return 2 * v") == "");
    CHECK(box.run("twice(x) + 2") == "42");
    CHECK(box.run("import math") == "");
    CHECK(box.run("print(math.floor(2.5))") == "2");
}

TEMPLATE_TEST_CASE("text is the whole output, in order, without blank lines around it", "[kernel][compat]",
                   socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    CHECK(box.run("print('\\n  a')\nprint('b')\n'c'") == "  a\nb\n'c'");
    CHECK(box.run("print('é 日本 🐍')") == "é 日本 🐍");
    CHECK(box.run("") == "");
    CHECK(box.run("pass") == "");
    for (int i = 0; i < 300; ++i) REQUIRE(box.run("print(" + std::to_string(i) + ")") == std::to_string(i));
}

TEMPLATE_TEST_CASE("Q7 an exception comes with what was printed before it", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box;
    auto const r = box->execute("print('before')\ndef f(): return 1 / 0\nf()");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::python_error);
    REQUIRE(r.error().exception());
    CHECK(r.error().exception()->ename == "ZeroDivisionError");
    CHECK(r.error().exception()->evalue == "division by zero");
    auto const traceback = joined(r.error());
    CHECK_THAT(traceback, Contains("f()"));
    CHECK_THAT(traceback, Contains("ZeroDivisionError: division by zero"));
    CHECK_THAT(traceback, !Contains("\x1b["));
    CHECK_THAT(traceback, !Contains("ipykernel/") && !Contains("IPython/core") && !Contains("ipybox_kernel"));
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "before");
    CHECK(box.run("1 + 1") == "2");
}

TEMPLATE_TEST_CASE("every kind of error is a value", "[kernel][compat]", socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    struct expectation {
        char const* code;
        char const* ename;
        char const* in_traceback;
    };
    expectation const cases[] = {
        {"def f(:\n  pass", "SyntaxError", "SyntaxError"},
        {"  x = 1\n y = 2", "IndentationError", "IndentationError"},
        {"nope", "NameError", "name 'nope' is not defined"},
        {"try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('chained') from e", "ValueError",
         "direct cause"},
        {"try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise KeyError('nested')", "KeyError", "During handling"},
        {"import asyncio\nawait asyncio.sleep(0)\nraise RuntimeError('late')", "RuntimeError", "late"},
        {"%timeit -n1 -r1 1 / 0", "ZeroDivisionError", "division by zero"},
        {"raise KeyboardInterrupt", "KeyboardInterrupt", "KeyboardInterrupt"},
        {"import sys; sys.exit(3)", "SystemExit", "3"},
        {"raise SystemExit('bye')", "SystemExit", "bye"},
        {"raise BaseException('base')", "BaseException", "base"},
        {"%no_such_magic", "UsageError", ""},
    };
    for (auto const& expected : cases) {
        INFO(expected.code);
        auto const r = box->execute(expected.code);
        if (std::string(expected.ename) == "UsageError") { // IPython prints these and goes on
            CHECK_THAT(text_of(r), Contains("no_such_magic"));
            continue;
        }
        REQUIRE_FALSE(r);
        REQUIRE(r.error() == errc::python_error);
        CHECK(r.error().exception()->ename == expected.ename);
        CHECK_THAT(joined(r.error()), Contains(expected.in_traceback));
        CHECK_THAT(joined(r.error()), !Contains("\x1b["));
    }
    CHECK(box.run("'still here'") == "'still here'");
}

TEMPLATE_TEST_CASE("displays are MIME bundles in order", "[kernel][compat]", socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    auto const r = box->execute(R"(
from IPython.display import display, HTML, JSON, Latex, SVG, Markdown
display(HTML('<b>bold</b>'))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg"/>'))
display(JSON({'a': [1, None]}))
display(Latex('$x$'))
display(Markdown('# m'))
display({'application/vnd.plotly.v1+json': {'data': []}, 'text/plain': 'plot'}, raw=True)
display({'application/vnd.vegalite.v5+json': {'mark': 'bar'}, 'text/plain': 'vega'}, raw=True)
display({'image/jpeg': '/9j/4A==', 'text/plain': 'jpeg'}, raw=True)
7 * 6)");
    REQUIRE(r);
    REQUIRE(r->displays.size() == 9);
    CHECK(*r->displays[0].data.find("text/html") == "<b>bold</b>");
    CHECK_THAT(*r->displays[1].data.find("image/svg+xml"), Contains("<svg"));
    CHECK(nlohmann::json::parse(*r->displays[2].data.find("application/json")) ==
          nlohmann::json({{"a", {1, nullptr}}}));
    CHECK(*r->displays[3].data.find("text/latex") == "$x$");
    CHECK(*r->displays[4].data.find("text/markdown") == "# m");
    CHECK(r->displays[5].data.to_json()["application/vnd.plotly.v1+json"]["data"].is_array());
    CHECK(r->displays[6].data.to_json()["application/vnd.vegalite.v5+json"]["mark"] == "bar");
    CHECK(*r->displays[7].data.find("image/jpeg") == std::string("\xff\xd8\xff\xe0", 4));
    CHECK(r->displays[7].data.to_json()["image/jpeg"] == "/9j/4A==");
    CHECK(r->displays[8].kind == display::message_type::execute_result);
    CHECK(*r->displays[8].data.find("text/plain") == "42");
    CHECK_THAT(r->text, Contains("plot") && Contains("vega") && Catch::Matchers::EndsWith("42"));
    CHECK(r->images.empty());
}

TEMPLATE_TEST_CASE("a plot becomes a file", "[kernel]", socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    auto const r = box->execute("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()");
    REQUIRE(r);
    REQUIRE(r->images.size() == 1);
    CHECK(r->images[0].parent_path() == box.options().output.images_dir);
    CHECK(r->images[0].extension() == ".png");
    CHECK(read_file(r->images[0]).substr(1, 3) == "PNG");
    CHECK(r->displays.back().image == r->images[0]);

    // Without show() too: the figure is shown at the end of the cell.
    auto const second = box->execute("plt.plot([3, 1]); plt.title('again');");
    REQUIRE(second);
    CHECK(second->images.size() == 1);
}

TEMPLATE_TEST_CASE("displays are updated and output is cleared", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box;
    auto const updated = box->execute("h = display('one', display_id=True)\nh.update('two')");
    REQUIRE(updated);
    REQUIRE(updated->displays.size() == 1);
    CHECK(*updated->displays[0].data.find("text/plain") == "'two'");
    CHECK(updated->displays[0].kind == display::message_type::display_data);

    CHECK(box.run("from IPython.display import clear_output\nprint('gone')\nclear_output()\nprint('kept')") == "kept");
    CHECK(box.run("print('old')\nclear_output(wait=True)") == "old");
    CHECK(box.run("print('old')\nclear_output(wait=True)\nprint('new')") == "new");
}

TEMPLATE_TEST_CASE("input is answered, or refused at once", "[kernel][compat]", socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    execute_options answering;
    std::string prompts;
    bool hidden = false;
    answering.on_input = [&](input_request request) {
        prompts += request.prompt();
        hidden = request.password();
        request.reply("Ada");
    };
    CHECK(text_of(box->execute("name = input('Who? ')\nprint('hello', name)", answering)) == "hello Ada");
    CHECK(prompts == "Who? ");
    CHECK_FALSE(hidden);
    CHECK(text_of(box->execute("import getpass\nprint(getpass.getpass('Secret: ') == 'Ada')", answering)) == "True");
    CHECK(hidden);

    auto const none = box->execute("input()");
    REQUIRE_FALSE(none);
    CHECK(none.error().exception()->ename == "StdinNotImplementedError");

    execute_options refusing;
    refusing.on_input = [](input_request const&) {}; // dropped: a refusal
    auto const refused = box->execute("input()", refusing);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().exception()->ename == "EOFError");

    execute_options throwing;
    throwing.on_input = [](input_request const&) { throw std::runtime_error("application"); };
    CHECK_FALSE(box->execute("input()", throwing));
    CHECK(box.run("1") == "1");
}

TEMPLATE_TEST_CASE("the kernel goes back to its working directory", "[kernel][compat]", socketpair_transport,
                   zmq_transport) {
    kernel_box<TestType> box;
    auto const home = box.options().working_dir.string();
    CHECK(box.run("import os\nprint(os.getcwd())") == home);
    CHECK(box.run("os.chdir('/')\nprint('moved')") == "moved\n[ipybox] cwd reset to " + home);
    CHECK(box.run("print(os.getcwd())") == home);
    CHECK(box.run("os.mkdir('sub')\nos.chdir('sub')\nprint(os.path.basename(os.getcwd()))") ==
          "sub\n[ipybox] cwd reset to " + home);
}

TEMPLATE_TEST_CASE("the environment is what was asked for, and nothing of ours is in the namespace", "[kernel][compat]",
                   socketpair_transport, zmq_transport) {
    ::setenv("IPYBOX_TEST_SECRET", "host", 1);
    kernel_box<TestType> box([](executor_options& o) { o.kernel.env = {{"MINE", "yes"}, {"TZ", "Asia/Tokyo"}}; });
    CHECK(box.run(
              "import os, time\nprint(os.environ.get('MINE'), os.environ.get('IPYBOX_TEST_SECRET'), time.tzname[0])") ==
          "yes None JST");
    CHECK(box.run("print('PATH' in os.environ, os.environ['HOME'] != '')") == "True True");
    CHECK(box.run("print([n for n in globals() if 'ipybox' in n.lower()])") == "[]");
    CHECK(box.run("%who str") == "No variables match your requested type.");
    ::unsetenv("IPYBOX_TEST_SECRET");
}

TEST_CASE("the kernel inherits five kinds of variables and no other", "[kernel][compat]") {
    ::setenv("IPYBOX_TEST_SECRET", "host", 1);
    kernel_box<> box;
    auto expected = kernel_environment(os::host_environment::now());
    CHECK_FALSE(expected.contains("IPYBOX_TEST_SECRET"));
    // Set in the kernel, so that plots and programs write what a result can hold.
    expected.insert({{"MPLBACKEND", ""}, {"NO_COLOR", ""}, {"TERM", ""}});
    std::string names;
    for (auto const& [name, value] : expected) names += name + "\n";
    names.pop_back();
    CHECK(box.run("import os\nprint(*sorted(os.environ), sep='\\n')") == names);
    ::unsetenv("IPYBOX_TEST_SECRET");
}

TEST_CASE("what a thread writes and displays between two cells begins the next one's output", "[kernel][compat]") {
    kernel_box<> box;
    CHECK(box.run("import os, sys, threading\nfrom IPython.display import display\ngo = threading.Event()\n"
                  "def speak():\n    go.wait()\n    print('late error', file=sys.stderr, flush=True)\n"
                  "    display({'text/plain': 'late display'}, raw=True)\n    print('late text', flush=True)\n"
                  "    open('spoken', 'w').close()\n"
                  "threading.Thread(target=speak).start()\nthreading.Timer(0.2, go.set).start()") == "");
    REQUIRE(eventually([&] { return std::filesystem::exists(box.options().working_dir / "spoken"); }));
    auto stream = box->stream("print('now')");
    std::string events;
    while (auto const event = stream.next()) {
        if (auto const* chunk = std::get_if<output_chunk>(&*event))
            events += (chunk->stream == output_chunk::stream_name::stderr_ ? "stderr: " : "") + chunk->text;
        if (auto const* shown = std::get_if<display>(&*event))
            events += "display: " + *shown->data.find("text/plain") + "\n";
        if (auto const* end = std::get_if<result<execution_result>>(&*event)) {
            REQUIRE(*end);
            CHECK((*end)->displays.size() == 1);
        }
    }
    CHECK(events == "stderr: late error\ndisplay: late display\nlate text\nnow\n");
}

TEMPLATE_TEST_CASE("magics, shell lines and coroutines work", "[kernel][compat]", socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    CHECK(box.run("files = !printf 'a\\nb\\n'\nprint(files, len(files))") == "['a', 'b'] 2");
    CHECK(box.run("!echo shell; echo err >&2") != "");
    CHECK(box.run("!exit 3\nprint(_exit_code)") == "3");
    CHECK(box.run("import asyncio\nawait asyncio.sleep(0)\nprint('awaited')") == "awaited");
    CHECK_THAT(box.run("len?"), Contains("Return the number of items"));
    CHECK(box.run("%%writefile note.txt\nhello") == "Writing note.txt");
    CHECK(read_file(box.options().working_dir / "note.txt") == "hello\n");
}

TEMPLATE_TEST_CASE("large output arrives whole", "[kernel]", socketpair_transport, zmq_transport) {
    kernel_box<TestType> box;
    auto const one = box->execute("print('x' * 10_000_000)");
    REQUIRE(one);
    CHECK(one->text.size() == 10'000'000);
    auto const many = box->execute("for i in range(100_000): print(i)");
    REQUIRE(many);
    CHECK(std::count(many->text.begin(), many->text.end(), '\n') == 99'999);
    CHECK_THAT(many->text, Catch::Matchers::EndsWith("\n99999"));
}

// What only the forked kernel promises.

TEST_CASE("Q8 M2 100 MB of text, a 10 MB cell and a 50 MB image pass", "[kernel]") {
    kernel_box<> box;
    auto const text = box->execute("print('y' * 100_000_000)");
    REQUIRE(text);
    CHECK(text->text.size() == 100'000'000);
    CHECK(text->spill_file.empty());

    auto const code = "data = '" + std::string(10'000'000, 'z') + "'\nlen(data)";
    CHECK(box.run(code) == "10000000");

    auto const image = box->execute("import os\npixels = b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom(50_000_000)\n"
                                    "from IPython.display import Image\nImage(data=pixels, format='png')");
    REQUIRE(image);
    REQUIRE(image->images.size() == 1);
    CHECK(std::filesystem::file_size(image->images[0]) == 50'000'008);
}

TEST_CASE("stdout and stderr are told apart", "[kernel][compat]") {
    kernel_box<> box;
    auto stream = box->stream("import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('out again')");
    std::string out;
    std::string err;
    while (auto event = stream.next())
        if (auto* chunk = std::get_if<output_chunk>(&*event))
            (chunk->stream == output_chunk::stream_name::stderr_ ? err : out) += chunk->text;
    CHECK(out == "out\nout again\n");
    CHECK(err == "err\n");
}

TEST_CASE("output below Python is kept, in order where the code waits for it", "[kernel][compat]") {
    kernel_box<> box;
    CHECK(
        box.run(
            "import subprocess\nprint('1', flush=True)\n_ = subprocess.run(['echo', '2'])\nprint('3', flush=True)\n_ = "
            "subprocess.run(['echo', '4'])\nprint('5', flush=True)") == "1\n2\n3\n4\n5");
    auto const text =
        box.run("import os, ctypes\nos.write(1, b'from a descriptor\\n')\nctypes.CDLL(None).puts(b'from C')\n"
                "_ = ctypes.CDLL(None).fflush(None)");
    CHECK_THAT(text, Contains("from a descriptor\n") && Contains("from C"));
    CHECK(box.run("import os\n_ = os.write(2, b'x' * 3_000_000)").size() == 3'000'000);
}

TEST_CASE("multiprocessing with fork works and its output is kept", "[kernel][compat]") {
    kernel_box<> box;
    auto const text = box.run("import multiprocessing as mp\nctx = mp.get_context('fork')\ndef work(i):\n    "
                              "print('child', i, flush=True)\n    return i * i\n"
                              "with ctx.Pool(2) as pool:\n    print(sum(pool.map(work, range(4))))");
    CHECK_THAT(text, Contains("14") && Contains("child 0") && Contains("child 3"));
}

TEST_CASE("forked kernels have randomness of their own", "[kernel][compat]") {
    scratch_dir dir;
    auto const options = options_in(dir.path());
    runtime const shared{{.working_dir = dir.path(), .kernel = {.python = python()}}, no_sandbox{}};
    executor one{options, {}, shared};
    executor two{options, {}, shared};
    auto const code = "import random, uuid, os\nprint(random.random(), uuid.uuid4(), os.urandom(4))";
    CHECK(text_of(one.execute(code)) != text_of(two.execute(code)));
}

TEST_CASE("the first cell is number one and no history is left of warming up", "[kernel][compat]") {
    kernel_box<> box;
    auto const r = box->execute("1 / 0");
    REQUIRE_FALSE(r);
    CHECK_THAT(joined(r.error()), Contains("Cell In[1]"));
    CHECK(box.run("print([_, __, ___, Out])") == "['', '', '', {}]");
}
