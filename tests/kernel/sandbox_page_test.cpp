#include <ipybox/ipybox.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/kernel_box.hpp>
#include <support/loopback_server.hpp>
#include <support/skip.hpp>

#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>

/** \file
 * The three things that the sandbox page of the Python package shows, under bubblewrap and under srt: the default
 * sandbox, hosts of a configuration, a sandboxed MCP server.
 */

namespace {

using namespace ipybox;
using namespace std::string_literals;
using test::contains;
using test::text_of;
namespace fs = std::filesystem;

template <class Sandbox>
constexpr bool is_srt = std::is_same_v<Sandbox, srt_sandbox>;

/// Why this sandbox does not work here, or nothing.
template <class Sandbox>
std::string missing() {
    test::scratch_dir const dir;
    auto const wrapped = Sandbox().wrap({.argv = {"/bin/true"}, .env = {}, .working_dir = dir.path()});
    return wrapped ? std::string() : wrapped.error().text();
}

/// Prints the status and the text of a page, or the error.
std::string fetching(std::string const& url) {
    return "import requests\n"
           "try:\n"
           "    page = requests.get('" +
           url +
           "', timeout=60)\n"
           "    print(page.status_code, page.text)\n"
           "except Exception as e: print('no page:', e)";
}

/// Serves one page, and is the proxy of those who ask for it by its whole URL.
void serve_page(test::tcp::socket& socket) {
    auto const asked = test::read_head(socket);
    auto const line = asked.substr(0, asked.find('\r'));
    asio::error_code gone;
    asio::write(socket, asio::buffer("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nExample Domain: " + line), gone);
}

/// A configuration in which requests for example.org, and no others, reach a server of this machine.
template <class Sandbox>
sandbox_config with_example_host(std::string const& port) {
    // The names of the real world are not looked up: srt hands them to a proxy in front of it, bubblewrap asks a
    // resolver of the test.
    auto const front = is_srt<Sandbox> ? R"(, "parentProxy": {"http": "http://127.0.0.1:)" + port + "\"}" : ""s;
    auto config = sandbox_config::parse(R"({
        "enableWeakerNestedSandbox": false,
        "filesystem": {"denyRead": [".env"], "allowWrite": ["."], "denyWrite": []},
        "network": {"allowedDomains": ["example.org"], "deniedDomains": [], "allowLocalBinding": true)" +
                                        front + "}}");
    REQUIRE(config);
    if constexpr (!is_srt<Sandbox>) {
        config->network.allowed_addresses.push_back(sandbox_config::address_range::parse("127.0.0.1").value());
        config->network.resolve = [](std::string const&) -> result<std::vector<asio::ip::address>> {
            return std::vector<asio::ip::address>{asio::ip::make_address("127.0.0.1")};
        };
    }
    return *std::move(config);
}

/// The filesystem server of npm with a sandbox of its own; it may serve the directory that it starts in, as far as it
/// is concerned.
template <class Sandbox>
mcp::server_params sandboxed_server(fs::path const& dir, fs::path const& settings) {
    auto const script =
        test::source_dir() / ".node/mcp/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
    INFO("./dev setup installs the Node packages");
    REQUIRE(fs::exists(script));
    mcp::server_params params{"node", {script.string(), "."}};
    params.working_dir = dir.string();
    if constexpr (is_srt<Sandbox>) {
        params.command = "srt";
        params.args.insert(params.args.begin(), {"--settings", settings.string(), "node"});
    } else {
        params.sandbox = Sandbox(sandbox_config::load(settings).value());
    }
    return params;
}

} // namespace

TEMPLATE_TEST_CASE("sandbox page: by default code runs, reads no .env, writes where it works, and has no network",
                   "[kernel]", bubblewrap_sandbox, srt_sandbox) {
    if (auto const why = missing<TestType>(); !why.empty()) return test::skip(why);
    test::scratch_dir const dir;
    auto const options = test::options_in(dir.path());
    std::ofstream(options.working_dir / ".env") << "TOKEN=secret";
    executor box(options, deny_approval{}, TestType());
    CHECK(text_of(box.execute("print('hello world')")) == "hello world");
    CHECK(contains(text_of(box.execute(fetching("https://example.org"))), "no page:"));
    CHECK_FALSE(
        contains(text_of(box.execute("try: print(open('.env').read())\nexcept OSError as e: print(e)")), "secret"));
    CHECK(text_of(box.execute("print(open('made', 'w').write('made'), open('made').read())")) == "4 made");
    (void)box.execute("open('../made', 'w')"); // a /tmp of the sandbox's own, where it has one
    CHECK_FALSE(fs::exists(dir.path() / "made"));

    test::loopback_server web{serve_page};
    auto const page = fetching("http://127.0.0.1:" + std::to_string(web.port()) + "/page");
    CHECK(contains(text_of(box.execute(page)), "no page:"));
    CHECK(web.connections == 0);
    executor outside(options, deny_approval{}, no_sandbox());
    CHECK(contains(text_of(outside.execute(page)), "200 Example Domain"));
}

TEMPLATE_TEST_CASE("sandbox page: a configuration opens one host", "[kernel]", bubblewrap_sandbox, srt_sandbox) {
    if (auto const why = missing<TestType>(); !why.empty()) return test::skip(why);
    test::loopback_server web{serve_page};
    auto const port = std::to_string(web.port());
    test::scratch_dir const dir;
    executor box(test::options_in(dir.path()), deny_approval{}, TestType(with_example_host<TestType>(port)));
    auto const get = [&](std::string const& host) {
        return text_of(box.execute(fetching("http://" + host + ":" + port + "/page")));
    };
    CHECK(contains(get("example.org"), "200 Example Domain: GET "));
    CHECK(web.connections == 1);
    for (auto const* other : {"example.com", "www.example.org"}) CHECK(get(other).starts_with("403 "));
    CHECK(web.connections == 1);
}

TEMPLATE_TEST_CASE("sandbox page: an MCP server in a sandbox serves less than it would", "[kernel]", bubblewrap_sandbox,
                   srt_sandbox) {
    if (auto const why = missing<TestType>(); !why.empty()) return test::skip(why);
    test::scratch_dir const dir;
    auto const options = test::options_in(dir.path());
    auto const& work = options.working_dir;
    std::ofstream(work / "README.md") << "to be read";
    std::ofstream(work / ".env") << "TOKEN=secret";
    auto const settings = dir.write("work/server.json", R"({
        "enableWeakerNestedSandbox": false,
        "filesystem": {"denyRead": [".env"], "allowWrite": ["."], "denyWrite": []},
        "network": {"allowedDomains": [], "deniedDomains": [], "allowLocalBinding": true}
    })");
    auto const code = [](std::string const& tool, std::string const& file) {
        return "from mcptools.filesystem." + tool + " import run, Params\nprint(run(Params(path='" + file +
               "')).content)";
    };
    executor box(options, auto_approval{}, TestType());

    // Without a sandbox the server reads what it likes.
    auto open = sandboxed_server<bubblewrap_sandbox>(work, settings);
    open.sandbox = {};
    REQUIRE(box.register_mcp_server("filesystem", open));
    REQUIRE(box.generate_mcp_sources("filesystem", work / "mcptools"));
    CHECK(contains(text_of(box.execute(code("read_file", ".env"))), "TOKEN=secret"));

    REQUIRE(box.replace_mcp_server("filesystem", sandboxed_server<TestType>(work, settings)));
    REQUIRE(box.reset());
    CHECK(contains(text_of(box.execute(code("list_directory", "."))), "README.md"));
    CHECK(contains(text_of(box.execute(code("read_file", "README.md"))), "to be read"));
    auto const secret = text_of(box.execute(code("read_file", ".env")));
    CHECK_FALSE(contains(secret, "TOKEN"));
    CHECK(contains(secret, "permission denied"));
    // Settings that are an argument decide what the server may do: they are protected as its program is.
    if constexpr (is_srt<TestType>)
        CHECK(contains(text_of(box.execute("open('server.json', 'a')")), "Read-only file system"));
}
