#include <ipybox/sandbox/sandbox_config.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using path_entry = ipybox::sandbox_config::path_entry;
using ipybox::sandbox_config;
using ipybox::test::contains;

sandbox_config read(std::string_view text) {
    auto config = sandbox_config::parse(text, "c.json");
    INFO((config ? std::string() : config.error().text()));
    REQUIRE(config);
    return *config;
}

std::string problem(std::string_view text) {
    auto const config = sandbox_config::parse(text, "c.json");
    return config ? "" : config.error().text();
}

std::vector<std::string> texts(std::vector<ipybox::sandbox_config::domain_pattern> const& patterns) {
    std::vector<std::string> all;
    for (auto const& p : patterns) all.push_back(p.text());
    return all;
}

bool denies_reading(sandbox_config const& config, std::string_view path) {
    auto const& list = config.filesystem.deny_read;
    return std::any_of(list.begin(), list.end(), [&](path_entry const& p) { return p.path == path; });
}

} // namespace

TEST_CASE("sandbox_config: the default writes to the working directory, reads no secrets and reaches no host") {
    sandbox_config const config;
    CHECK(config.filesystem.allow_write == std::vector<path_entry>{{"."}});
    CHECK(denies_reading(config, "**/.env"));
    CHECK(denies_reading(config, "**/.env.production"));
    CHECK(denies_reading(config, "~/.ssh/"));
    CHECK(denies_reading(config, "~/.git-credentials"));
    CHECK(config.network.allowed_domains.empty());
    CHECK(config.search_depth == 3);
    CHECK_FALSE(config.nested_user_namespaces);
}

TEST_CASE("sandbox_config: a list that is missing is that of the default, an empty one is empty") {
    auto const config = read(R"({"filesystem": {"denyRead": []}})");
    CHECK(config.filesystem.deny_read.empty());
    CHECK(config.filesystem.allow_write == std::vector<path_entry>{{"."}});
    CHECK(read("{}").filesystem.deny_read == sandbox_config().filesystem.deny_read);
}

TEST_CASE("sandbox_config: reads what srt reads") {
    auto const config = read(R"({
      "network": {
        "allowedDomains": ["pypi.org", "*.pythonhosted.org:443"],
        "deniedDomains": ["evil.pythonhosted.org", "*:25"],
        "deniedDomainReasons": {"*:25": "no mail from here"},
        "deniedResolvedAddresses": ["10.0.0.0/8"],
        "strictAllowlist": true,
        "allowUnixSockets": ["/run/x.sock"],
        "allowedAddresses": ["10.0.0.0/8", "192.168.1.10"],
        "parentProxy": {"http": "http://proxy:3128", "noProxy": "corp.test, .lan ,10.0.0.0/8"}
      },
      "filesystem": {
        "denyRead": [".env", {"path": "a*b", "literal": true}],
        "allowRead": ["~/.ssh/known_hosts"],
        "allowWrite": [".", "/data/**"],
        "denyWrite": ["config"],
        "allowGitConfig": true
      },
      "credentials": {"files": [{"path": "~/token", "mode": "deny"}], "envVars": [{"name": "KEY", "mode": "deny"}]},
      "allowNestedUserNamespaces": true,
      "mandatoryDenySearchDepth": 5,
      "bwrapPath": "/opt/bwrap"
    })");
    CHECK(texts(config.network.allowed_domains) == std::vector<std::string>{"pypi.org", "*.pythonhosted.org:443"});
    CHECK(texts(config.network.denied_domains) == std::vector<std::string>{"evil.pythonhosted.org", "*:25"});
    CHECK(config.network.denied_domain_reasons.at("*:25") == "no mail from here");
    CHECK(config.network.denied_addresses.size() == 1);
    CHECK_FALSE(config.network.ask_for_others);
    CHECK(config.network.unix_sockets == std::vector<std::filesystem::path>{"/run/x.sock"});
    std::vector<std::string> addresses;
    for (auto const& range : config.network.allowed_addresses) addresses.push_back(range.text());
    CHECK(addresses == std::vector<std::string>{"10.0.0.0/8", "192.168.1.10/32"});
    CHECK(config.network.parent_proxy == "http://proxy:3128");
    CHECK(config.network.parent_proxy_exceptions == std::vector<std::string>{"corp.test", ".lan", "10.0.0.0/8"});
    CHECK(config.filesystem.deny_read == std::vector<path_entry>{{".env"}, {"a*b", true}, {"~/token"}});
    CHECK(config.filesystem.allow_read == std::vector<path_entry>{{"~/.ssh/known_hosts"}});
    CHECK(config.filesystem.allow_write == std::vector<path_entry>{{"."}, {"/data/**"}});
    CHECK(config.filesystem.deny_write == std::vector<path_entry>{{"config"}});
    CHECK(config.filesystem.allow_git_config);
    CHECK(config.hidden_variables == std::vector<std::string>{"KEY"});
    CHECK(config.nested_user_namespaces);
    CHECK(config.search_depth == 5);
    CHECK(config.bwrap == "/opt/bwrap");
    CHECK(config.notices.empty());
}

TEST_CASE("sandbox_config: keys for other systems are accepted, with a notice") {
    auto const config = read(
        R"({"allowPty": true, "windows": {}, "ripgrep": {"command": "rg"}, "network": {"allowLocalBinding": true}})");
    REQUIRE(config.notices.size() == 4);
    CHECK(config.notices[0] == "allowPty is meant for macOS");
    CHECK(std::any_of(config.notices.begin(), config.notices.end(),
                      [](auto const& n) { return n.starts_with("allowLocalBinding "); }));
}

TEST_CASE("sandbox_config: an unknown key is an error with its name and line") {
    CHECK(problem("{\n  \"network\": {\n    \"allowedDomain\": []\n  }\n}") ==
          "c.json:3: network/allowedDomain: no such member is known here; did you mean allowedDomains?");
    CHECK(problem("{\n\"filesytem\": {}}") ==
          "c.json:2: filesytem: no such member is known here; did you mean filesystem?");
    CHECK(problem(R"({"filesystem": {"denyRead": [{"path": "a", "literal": true, "x": 1}]}})") ==
          "c.json:1: filesystem/denyRead/0/x: no such member is known here");
    CHECK(problem(R"({"credentials": {"files": [{"path": "a", "mode": "deny", "kind": 1}]}})") ==
          "c.json:1: credentials/files/0/kind: no such member is known here");
}

TEST_CASE("sandbox_config: what cannot be enforced is refused by name") {
    for (auto const* const key :
         {"httpProxyPort", "socksProxyPort", "filterRequest", "mitmProxy", "tlsTerminate", "allowPlaintextHeaderSet",
          "stripResponseHeaders", "refuseOpaqueTunnels", "requireHostMatch", "ambiguousRequestTarget"}) {
        auto const text = problem("{\"network\": {\"" + std::string(key) + "\": 1}}");
        CHECK(text.starts_with("c.json:1: network/" + std::string(key) + ": "));
    }
    CHECK(problem(R"({"git": {"safeDirectories": []}})") ==
          "c.json:1: git: is not supported; remove it, or run srt itself");
    CHECK(problem(R"({"filesystem": {"disabled": true}})").starts_with("c.json:1: filesystem/disabled: would switch"));
    CHECK(problem(R"({"filesystem": {"disabled": false}})").empty());
    CHECK(problem(R"({"credentials": {"envVars": [{"name": "K", "mode": "mask"}]}})")
              .starts_with("c.json:1: credentials/envVars/0/mode: needs a proxy"));
}

TEST_CASE("sandbox_config: what has the wrong type or value says what is wanted") {
    CHECK(problem("[]") == "c.json:1: an object is wanted");
    CHECK(problem(R"({"filesystem": []})") == "c.json:1: filesystem: an object is wanted");
    CHECK(problem(R"({"filesystem": {"denyRead": ".env"}})") == "c.json:1: filesystem/denyRead: an array is wanted");
    CHECK(problem("{\"filesystem\": {\"denyRead\": [\n1]}}") ==
          "c.json:2: filesystem/denyRead/0: a path is wanted, or {\"path\": \"…\", \"literal\": true}");
    CHECK(problem(R"({"filesystem": {"denyRead": [""]}})") != "");
    // The system would end them at the NUL, and open or close another file.
    CHECK(problem(R"({"filesystem": {"allowWrite": ["/a\u0000b"]}})")
              .starts_with("c.json:1: filesystem/allowWrite/0: a path is wanted"));
    CHECK(problem(R"({"filesystem": {"denyRead": [{"path": "a\u0000b", "literal": true}]}})")
              .starts_with("c.json:1: filesystem/denyRead/0/path: a path is wanted"));
    CHECK(problem(R"({"filesystem": {"denyRead": [{"path": "a"}]}})") ==
          "c.json:1: filesystem/denyRead/0/literal: true is wanted");
    CHECK(problem("{\"network\": {\"allowedDomains\": [\n\"ok.org\",\n\"*.com\"]}}") ==
          "c.json:3: network/allowedDomains/1: the host \"*.com\" cannot be used: it needs two labels, as example.org");
    CHECK(problem(R"({"network": {"allowedDomains": ["*"]}})") != "");
    CHECK(problem(R"({"network": {"deniedResolvedAddresses": ["10/8"]}})") != "");
    CHECK(problem(R"({"mandatoryDenySearchDepth": 11})") ==
          "c.json:1: mandatoryDenySearchDepth: an integer from 1 to 10 is wanted");
    CHECK(problem(R"({"bwrapPath": "bwrap"})") == "c.json:1: bwrapPath: an absolute path is wanted");
    CHECK(problem("{\n\"a\" 1}").starts_with("c.json:2:5: "));
    CHECK(problem(R"({"network": {}, "network": {}})") == "c.json: a member \"network\" stands twice in one object");
}

TEST_CASE("sandbox_config: what is written is read as the same, and has the keys of srt") {
    constexpr auto everything = R"({
      "network": {
        "allowedDomains": ["pypi.org", "*.pythonhosted.org:443"],
        "deniedDomains": ["evil.pythonhosted.org", "*:25"],
        "deniedDomainReasons": {"*:25": "no mail from here"},
        "deniedResolvedAddresses": ["10.0.0.0/8", "fc00::/7", "192.0.2.1/32"],
        "strictAllowlist": true,
        "allowUnixSockets": ["/run/x.sock"],
        "allowAllUnixSockets": true,
        "allowedAddresses": ["10.0.0.0/8"],
        "parentProxy": {"http": "http://proxy:3128", "https": "http://proxy:3128", "noProxy": "corp.test,10.0.0.0/8"}
      },
      "filesystem": {
        "denyRead": [".env", {"path": "a*b", "literal": true}],
        "allowRead": ["~/.ssh/known_hosts"],
        "allowWrite": [".", "/data/**"],
        "denyWrite": ["config"],
        "allowGitConfig": true
      },
      "credentials": {"envVars": [{"name": "KEY", "mode": "deny"}]},
      "allowNestedUserNamespaces": true,
      "mandatoryDenySearchDepth": 5,
      "bwrapPath": "/opt/bwrap"
    })";
    CHECK(nlohmann::json::parse(read(everything).text()) == nlohmann::json::parse(everything));

    auto const usual = sandbox_config().text();
    CHECK(read(usual).text() == usual);
    CHECK(read(usual).filesystem.deny_read == sandbox_config().filesystem.deny_read);
    CHECK(read(R"({"network": {"deniedResolvedAddresses": ["192.0.2.1"]}})").text() ==
          read(R"({"network": {"deniedResolvedAddresses": ["192.0.2.1/32"]}})").text());
}

TEST_CASE("sandbox_config: what is no UTF-8 can be written") {
    sandbox_config config;
    config.filesystem.deny_write = {{"caf\xe9"}};
    CHECK(config.text().find("caf\xef\xbf\xbd") != std::string::npos);
}

TEST_CASE("sandbox_config: a file of 1 MiB is read, and a larger one is not") {
    ipybox::test::scratch_dir const dir;
    std::string const longest((1 << 20) - 2, ' ');
    CHECK(sandbox_config::load(dir.write("longest.json", "{}" + longest)));
    auto const refused = sandbox_config::load(dir.write("longer.json", "{}" + longest + ' '));
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == ipybox::errc::invalid_argument);
    CHECK(contains(refused.error().text(), "longer.json: it has more than 1048576 bytes"));
}

TEST_CASE("sandbox_config: 500 arrays and objects inside each other are read, and more are not") {
    auto const nested = [](std::size_t arrays, std::string const& inside) {
        return R"({"filesystem": )" + std::string(arrays, '[') + inside + std::string(arrays, ']') + "}";
    };
    for (auto const* inside : {"", "1"}) {
        CHECK(contains(problem(nested(499, inside)), "an object is wanted"));
        CHECK(contains(problem(nested(500, inside)), "nest too deeply"));
    }
}
