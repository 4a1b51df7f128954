#include <ipybox/adapters/agent_tool.hpp>
#include <ipybox/adapters/mcp_tool.hpp>
#include <ipybox/adapters/openai_tool.hpp>
#include <ipybox/core/base64.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/kernel_box.hpp"

/** \file
 * An executor as a tool of language models, with a real kernel.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using nlohmann::json;

/// Displays PNG files of `size` bytes and more.
std::string pictures(int number, int size = 0) {
    return R"(
from IPython.display import display, Image
import base64
png = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')
for i in range()" +
           std::to_string(number) + "):\n    display(Image(png + bytes(" + std::to_string(size) + "), format='png'))\n";
}

json with_code(std::string const& code) { return {{"code", code}}; }

/// The only text block of an MCP result.
std::string text_of_result(json const& result) {
    REQUIRE(result.at("content").size() == 1);
    REQUIRE(result.at("content").at(0).at("type") == "text");
    return result.at("content").at(0).at("text");
}

/// As agent libraries have it, with a class for the definition that is not ours.
struct their_definition {
    std::string name, description, parameters;
};

struct their_tool {
    virtual ~their_tool() = default;
    [[nodiscard]] virtual their_definition get_definition() const = 0;
    [[nodiscard]] virtual std::string get_name() const = 0;
    [[nodiscard]] virtual std::string execute(json const& arguments) = 0;
};

} // namespace

TEST_CASE("MCP tool: its definition is one that clients accept, and its calls share a session") {
    kernel_box box;
    auto const tool = as_mcp_tool(*box, {.name = "python", .description = "Runs it"});
    json const definition = tool.definition();
    CHECK(definition.at("name") == "python");
    CHECK(definition.at("description") == "Runs it");
    CHECK(definition.at("inputSchema").at("type") == "object");
    CHECK(definition.at("inputSchema").at("required") == json::array({"code"}));
    CHECK(definition.at("inputSchema").at("properties").at("code").at("type") == "string");

    CHECK(json(tool.call(with_code("x = 20"))) ==
          json{{"content", {{{"type", "text"}, {"text", "[no output]"}}}}, {"isError", false}});
    CHECK(text_of_result(tool.call(with_code("print('x'); x + 1"))) == "x\n21");
}

TEST_CASE("MCP tool: an exception is a result with what was printed before, and the session goes on") {
    kernel_box box;
    auto const tool = as_mcp_tool(*box);
    json const result = tool.call(with_code("y = 1\nprint('before')\n1/0"));
    CHECK(result.at("isError") == true);
    auto const text = text_of_result(result);
    CHECK(text.starts_with("before\n"));
    CHECK(contains(text, "ZeroDivisionError: division by zero"));
    CHECK(text_of_result(tool.call(with_code("y"))) == "1");
}

TEST_CASE("MCP tool: images are blocks within their bounds, others are named") {
    kernel_box box;
    auto const tool = as_mcp_tool(*box, {.max_images = 2, .max_image_bytes = 1000});
    json const two = tool.call(with_code(pictures(2)));
    REQUIRE(two.at("content").size() == 3); // with the text of what was displayed
    auto const& image = two.at("content").at(1);
    CHECK(image.at("type") == "image");
    CHECK(image.at("mimeType") == "image/png");
    CHECK(base64_decode(image.at("data").get<std::string>())->starts_with("\x89PNG"));

    auto const size = base64_decode(image.at("data").get<std::string>())->size();
    auto const exact = as_mcp_tool(*box, {.max_image_bytes = size});
    CHECK(json(exact.call(with_code(pictures(1)))).at("content").size() == 2);
    auto const less = as_mcp_tool(*box, {.max_image_bytes = size - 1});
    CHECK(json(less.call(with_code(pictures(1)))).at("content").size() == 1);

    json const three = tool.call(with_code(pictures(3)));
    CHECK(three.at("content").size() == 3);
    CHECK(contains(three.at("content").at(0).at("text").get<std::string>(), "[a further image: "));

    auto const many = text_of_result(as_mcp_tool(*box, {.max_images = 0}).call(with_code(pictures(20))));
    CHECK(contains(many, "[and 15 more images]"));

    json const large = tool.call(with_code(pictures(1, 1000)));
    CHECK(contains(text_of_result(large), "[a further image: " + box.dir().string()));
}

TEST_CASE("Adapters: images are those that were displayed, whatever code puts in the place of their files") {
    kernel_box box;
    auto const tool = as_mcp_tool(*box);
    scratch_dir const host;
    auto const secret = host.write("secret", "of the host");
    auto const replaced_by = [&](std::string const& made) {
        return json(tool.call(with_code(pictures(1) + R"(
import os, time
directory = ')" + box.options().output.images_dir.string() +
                                        R"('
while not (os.path.isdir(directory) and os.listdir(directory)): time.sleep(0.01)
file = os.path.join(directory, os.listdir(directory)[0])
time.sleep(0.1)
os.remove(file)
)" + made + "\n")));
    };
    for (auto const& made : {"os.symlink('" + secret.string() + "', file)", std::string("os.mkfifo(file)")}) {
        INFO(made);
        json const result = replaced_by(made);
        INFO(result.dump());
        REQUIRE(result.at("content").size() == 2);
        CHECK(base64_decode(result.at("content").at(1).at("data").get<std::string>())->starts_with("\x89PNG"));
        json const cleared = tool.call(with_code("os.remove(file)"));
        REQUIRE(cleared.at("isError") == false);
    }
}

TEST_CASE("Adapters: text at its bound is whole, beyond it the middle is left out, between characters") {
    kernel_box box;
    auto const tool = as_mcp_tool(*box, {.max_text = 100});
    CHECK(text_of_result(tool.call(with_code("print('a' * 100)"))) == std::string(100, 'a'));
    CHECK(text_of_result(tool.call(with_code("print('a' * 50 + 'b' + 'c' * 50)"))) ==
          std::string(50, 'a') + "\n[... 1 bytes left out ...]\n" + std::string(50, 'c'));
    auto const cut = text_of_result(tool.call(with_code("print('\\u20ac' * 100)"))); // three bytes each
    CHECK(is_utf8(cut));
    CHECK(cut.size() < 100 + 40);
    auto const raised = text_of_result(tool.call(with_code("raise ValueError('z' * 100000)")));
    CHECK(raised.size() < 100 + 40);
    CHECK(raised.ends_with("zzz"));
    auto const both = text_of_result(tool.call(with_code("print('a' * 1000)\nraise ValueError('z' * 1000)")));
    CHECK(both.size() < 100 + 2 * 40);
    CHECK(both.starts_with("aaa"));
    CHECK(both.ends_with("zzz"));
}

TEST_CASE("Adapters: arguments that do not fit are answers, and nothing runs") {
    kernel_box box;
    auto const tool = as_mcp_tool(*box);
    for (auto const& arguments : std::vector<json>{
             nullptr, "print(1)", json::object(), {{"code", 1}}, {{"code", "print(1)"}, {"language", "python"}}}) {
        INFO(arguments.dump());
        json const result = tool.call(arguments);
        CHECK(result.at("isError") == true);
        CHECK(text_of_result(result).starts_with("The arguments cannot be used: "));
    }
    CHECK(box->state() == executor::kernel_state::stopped);
}

TEST_CASE("Adapters: code that takes too long is stopped, and the answer says so") {
    kernel_box box;
    auto const tool = as_mcp_tool(*box, {.timeout = 300ms});
    json const result = tool.call(with_code("z = 3\nprint('begun')\nimport time\ntime.sleep(60)"));
    CHECK(result.at("isError") == true);
    auto const text = text_of_result(result);
    CHECK(text.starts_with("begun\n"));
    CHECK(contains(text, "300 ms"));
    CHECK(text_of_result(tool.call(with_code("z"))) == "3");
}

TEST_CASE("Adapters: a kernel that dies is an answer, and the next call says that the state is gone") {
    kernel_box box([](executor_options& options) { options.kernel.restart_dead = true; });
    auto const tool = as_mcp_tool(*box);
    json const died = tool.call(with_code("import os\nos._exit(3)"));
    CHECK(died.at("isError") == true);
    CHECK_FALSE(text_of_result(died).empty());
    CHECK(contains(text_of_result(tool.call(with_code("1 + 1"))), "[the session is a new one"));
}

TEST_CASE("Adapters: an action that is rejected is an answer, and the code goes on") {
    kernel_box box([](executor_options& options) { options.approval.shell_cmds = true; });
    auto const tool = as_mcp_tool(*box);
    json const rejected = tool.call(with_code("w = 5\n!echo done"));
    CHECK(rejected.at("isError") == true);
    CHECK(contains(text_of_result(rejected), "ApprovalRejectedError"));
    CHECK(text_of_result(tool.call(with_code("w"))) == "5");
}

TEST_CASE("Adapters: a call from the executor's own thread is an answer") {
    asio::io_context io;
    scratch_dir const dir;
    executor box(io.get_executor(), options_in(dir.path()), any_approval{}, unsandboxed);
    auto const tool = as_mcp_tool(box);
    json result;
    asio::post(io, [&] { result = tool.call(with_code("1")); });
    io.run();
    CHECK(result.at("isError") == true);
    CHECK_FALSE(text_of_result(result).empty());
}

TEST_CASE("Adapters: an executor that was stopped, and an interpreter that is none, are answers") {
    kernel_box box;
    auto const tool = as_mcp_tool(*box);
    REQUIRE(box->stop());
    CHECK(json(tool.call(with_code("1"))).at("isError") == true);

    kernel_box without([](executor_options& options) { options.kernel.python = "/no/such/python"; });
    CHECK(contains(text_of_result(as_mcp_tool(*without).call(with_code("1"))), "/no/such/python"));
}

TEST_CASE("Adapters: text that is no UTF-8 can be written as JSON") {
    kernel_box without([](executor_options& options) { options.kernel.python = "/no/such/p\xffthon"; });
    auto const tool = as_openai_tool(*without);
    std::string written;
    REQUIRE_NOTHROW(written = tool.call(with_code("'caf\xe9'")).dump());
    CHECK(contains(written, "/no/such/p\xEF\xBF\xBDthon"));
    CHECK(contains(written, "caf\xEF\xBF\xBD"));
}

TEST_CASE("OpenAI function: its definitions, and outputs as code_interpreter has them") {
    kernel_box box;
    auto const tool = as_openai_tool(*box);
    json const chat = tool.definition();
    CHECK(chat.at("type") == "function");
    CHECK(chat.at("function").at("name") == "execute_python");
    CHECK(chat.at("function").at("parameters").at("required") == json::array({"code"}));
    json const responses = tool.definition(openai_api::responses);
    CHECK(responses.at("type") == "function");
    CHECK(responses.at("name") == "execute_python");
    CHECK(responses.at("parameters") == chat.at("function").at("parameters"));

    json const done = tool.call(with_code("print('hello')\n" + pictures(1)));
    CHECK(done.at("type") == "code_interpreter_call");
    CHECK(done.at("status") == "completed");
    REQUIRE(done.at("outputs").size() == 2);
    CHECK(done.at("outputs").at(0).at("type") == "logs");
    CHECK(done.at("outputs").at(0).at("logs").get<std::string>().starts_with("hello\n"));
    CHECK(done.at("outputs").at(1).at("type") == "image");
    CHECK(done.at("outputs").at(1).at("url").get<std::string>().starts_with("data:image/png;base64,iVBOR"));

    json const failed = tool.call(with_code("1/0"));
    CHECK(failed.at("status") == "failed");
    CHECK(failed.at("code") == "1/0");
    CHECK(json(tool.call(with_code("q = 1"))).at("outputs") == json::array());
}

TEST_CASE("OpenAI function: a call of the model gets its message") {
    kernel_box box;
    auto const tool = as_openai_tool(*box);
    auto const asked = [](std::string const& name, std::string const& arguments) {
        return json{{"id", "call_1"}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
    };
    CHECK(json(tool.answer(asked("execute_python", R"({"code": "6 * 7"})"))) ==
          json{{"role", "tool"}, {"tool_call_id", "call_1"}, {"content", "42"}});
    auto const content = [&](json const& call) { return json(tool.answer(call)).at("content").get<std::string>(); };
    CHECK(contains(content(asked("execute_python", "6 * 7")), "not valid JSON"));
    CHECK(content(asked("search", "{}")) == "There is no tool search, only execute_python.");
    auto const image = content(asked("execute_python", with_code(pictures(1)).dump()));
    CHECK(contains(image, "[image: " + box.options().output.images_dir.string()));
    CHECK(contains(content(nullptr), "There is no tool"));
    CHECK(contains(content({{"id", 7}, {"function", "f"}}), "There is no tool"));

    CHECK(json(tool.answer({{"type", "function_call"},
                            {"call_id", "c7"},
                            {"name", "execute_python"},
                            {"arguments", R"({"code": "6 * 7"})"}})) ==
          json{{"type", "function_call_output"}, {"call_id", "c7"}, {"output", "42"}});
}

TEST_CASE("OpenAI function: arguments at their bounds are read, beyond them they are answered unread") {
    kernel_box box;
    auto const tool = as_openai_tool(*box);
    auto const content = [&](std::string const& arguments) {
        json const answer = tool.answer({{"function", {{"name", "execute_python"}, {"arguments", arguments}}}});
        return answer.at("content").get<std::string>();
    };
    auto const is_read = [&](std::string const& arguments) {
        return contains(content(arguments), "has to be a string");
    };
    auto const is_refused = [&](std::string const& arguments) {
        return content(arguments) == R"(The arguments are too long, or nest too deeply. Call it with {"code": "..."}.)";
    };
    auto const nested = [](std::size_t levels) {
        return R"({"code": )" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
    };
    CHECK(is_read(nested(64)));
    CHECK(is_refused(nested(65)));
    CHECK(is_refused(nested(1'000'000)));

    auto const listed = [](int elements) { // the object, its name and its array are values too
        std::string text = R"({"code": [0)";
        for (int i = 1; i < elements; ++i) text += ",0";
        return text + "]}";
    };
    CHECK(is_read(listed(997)));
    CHECK(is_refused(listed(998)));

    std::string blanks(std::size_t(16) << 20, ' ');
    blanks.replace(0, 11, R"({"code": 1})");
    CHECK(is_read(blanks));
    CHECK(is_refused(blanks + ' '));
    CHECK(box->state() == executor::kernel_state::stopped);
}

TEST_CASE("Adapters: what a model calls and passes is not copied as deep as it nests, and is repeated within bounds") {
    kernel_box box;
    auto const tool = as_mcp_tool(*box, {.max_text = 1000});
    auto const openai = as_openai_tool(*box);
    json deep; // moved alone: a copy would recurse
    deep["code"] = json::parse(std::string(200'000, '[') + std::string(200'000, ']'));
    CHECK(text_of_result(tool.call(deep)) ==
          R"(The arguments cannot be used: they nest too deeply. Call it with {"code": "..."}.)");
    json asked;
    asked["id"] = "call_1";
    asked["function"].swap(deep["code"]);
    CHECK(contains(json(openai.answer(asked)).at("content").get<std::string>(), "There is no tool"));

    json const unknown{{"code", "1"}, {"k\xff" + std::string(1'000'000, 'k'), 1}};
    auto const text = text_of_result(tool.call(unknown));
    CHECK(text.size() < 1000 + 40);
    CHECK(is_utf8(text));
    json const called = openai.answer({{"function", {{"name", "n\xff" + std::string(1'000'000, 'n')}}}});
    CHECK(called.at("content").get<std::string>().size() < 400);
    CHECK(is_utf8(called.at("content").get<std::string>()));
    CHECK(box->state() == executor::kernel_state::stopped);
}

TEST_CASE("Agent tool: derives from the class of a library, and from its own") {
    kernel_box box;
    std::unique_ptr<their_tool> const theirs = as_agent_tool<their_tool>(*box, {.name = "py"});
    CHECK(theirs->get_name() == "py");
    auto const definition = theirs->get_definition();
    CHECK(definition.name == "py");
    CHECK_FALSE(definition.description.empty());
    CHECK(json::parse(definition.parameters).at("required") == json::array({"code"}));
    CHECK(theirs->execute(with_code("k = 41")) == "[no output]");
    CHECK(contains(theirs->execute(with_code("1/0")), "ZeroDivisionError"));
    CHECK(contains(theirs->execute({{"kode", "1"}}), "The arguments cannot be used"));

    std::unique_ptr<agent_tool_interface> const own = as_agent_tool(*box);
    CHECK(own->execute(with_code("k + 1")) == "42");
    CHECK(own->get_definition().name == "execute_python");
}
