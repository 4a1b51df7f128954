#include <ipybox/app/diagnosis.hpp>
#include <ipybox/version.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>

namespace {

using namespace ipybox;

/// A machine with bubblewrap and without srt, and with a Node that hangs.
diagnosis some_machine() {
    diagnosis d;
    d.sandbox = "bubblewrap";
    finding const python{.name = "interpreter",
                         .state = finding_state::works,
                         .needed = true,
                         .version = "3.11.2",
                         .path = "/usr/bin/python3",
                         .note = "python3 on PATH"};
    finding const bubblewrap{.name = "bubblewrap",
                             .state = finding_state::works,
                             .needed = true,
                             .version = "0.8.0",
                             .elapsed = std::chrono::milliseconds(412)};
    finding const srt{.name = "srt", .state = finding_state::fails, .gap = "sandbox-runtime is not installed"};
    finding const none{.name = "none", .gap = "not tried"};
    finding const node{.name = "node",
                       .state = finding_state::fails,
                       .path = "/opt/node",
                       .gap = "did not end\nin time",
                       .remedy = "apt-get install nodejs"};
    d.groups = {{"python", "Python", {python}},
                {"kernels", "Kernels", {bubblewrap, srt, none}},
                {"programs", "Programs", {node}}};
    d.sandboxes.machine.system = "Linux 6.8.0 x86_64";
    d.sandboxes.policies = {{.policy = "bubblewrap", .protections = {{"files"}, {"approvals", "needs Landlock"}}},
                            {.policy = "srt", .gap = "sandbox-runtime is not installed"}};
    d.libraries = {{"Asio", "1.22.1"}, {"nlohmann/json", "3.11.2"}};
    return d;
}

} // namespace

TEST_CASE("diagnosis: the text has aligned columns, each gap, and what mends it") {
    CHECK(some_machine().text() == std::string("ipybox ") + version::text +
                                       " on Linux 6.8.0 x86_64\n"
                                       "\n"
                                       "Python\n"
                                       "  yes  interpreter  3.11.2  /usr/bin/python3  python3 on PATH\n"
                                       "\n"
                                       "Kernels\n"
                                       "  yes  bubblewrap   0.8.0   first cell after 0.41 s\n"
                                       "  no   srt\n"
                                       "         sandbox-runtime is not installed\n"
                                       "  -    none\n"
                                       "         not tried\n"
                                       "\n"
                                       "Programs\n"
                                       "  no   node                 /opt/node\n"
                                       "         did not end\n"
                                       "         in time\n"
                                       "         to mend it: apt-get install nodejs\n"
                                       "\n"
                                       "Protections that the sandboxes lack (docs/sandbox.md)\n"
                                       "  bubblewrap:\n"
                                       "         approvals; needs Landlock\n"
                                       "  cgroup v2: no controllers, not delegated to this user\n"
                                       "\n"
                                       "Libraries\n"
                                       "  Asio           1.22.1\n"
                                       "  nlohmann/json  3.11.2\n"
                                       "\n"
                                       "Ready: code runs with --sandbox bubblewrap.\n");
}

TEST_CASE("diagnosis: what is needed decides, and that is marked in capitals") {
    auto machine = some_machine();
    CHECK(machine.readiness() == readiness::ready);

    machine.groups.at(2).findings.at(0).needed = true;
    CHECK(machine.readiness() == readiness::incomplete);
    CHECK(test::contains(machine.text(), "  NO   node"));
    CHECK(test::contains(machine.text(), "\nNot ready: code runs, but what is marked NO does not work.\n"));

    machine.groups.at(1).findings.at(0).state = finding_state::fails;
    CHECK(machine.readiness() == readiness::no_kernel);
    CHECK(test::contains(machine.text(), "\nNot ready: no kernel starts.\n"));

    // a directory that works is no kernel
    machine.groups.at(1).name = "directories";
    machine.groups.at(1).findings.at(0).state = finding_state::works;
    CHECK(machine.readiness() == readiness::no_kernel);
}

TEST_CASE("diagnosis: what is needed and was not tried is not there") {
    auto machine = some_machine();
    machine.groups.at(0).findings.push_back({.name = "ipykernel", .needed = true});
    CHECK(machine.readiness() == readiness::incomplete);
}

TEST_CASE("diagnosis: JSON has every finding, with null for what is unknown") {
    auto const json = nlohmann::json::parse(some_machine().json());
    CHECK(json.at("schema") == 1);
    CHECK(json.at("verdict") == "ready");
    CHECK(json.at("sandbox") == "bubblewrap");
    CHECK(json.at("ipybox") == version::text);
    REQUIRE(json.at("checks").size() == 5);
    auto const& bubblewrap = json.at("checks").at(1);
    CHECK(bubblewrap == nlohmann::json{{"group", "kernels"},
                                       {"name", "bubblewrap"},
                                       {"state", "works"},
                                       {"needed", true},
                                       {"version", "0.8.0"},
                                       {"path", nullptr},
                                       {"note", nullptr},
                                       {"elapsed_ms", 412},
                                       {"gap", nullptr},
                                       {"remedy", nullptr}});
    CHECK(json.at("checks").at(3).at("state") == "untried");
    CHECK(json.at("checks").at(4).at("remedy") == "apt-get install nodejs");
    CHECK(json.at("machine").at("system") == "Linux 6.8.0 x86_64");
    CHECK(json.at("machine").at("srt").is_null());
    CHECK(json.at("sandboxes").at(0).at("protections").at(1).at("gap") == "needs Landlock");
    CHECK(json.at("libraries").at("Asio") == "1.22.1");
}

TEST_CASE("diagnosis: JSON is valid whatever programs have said") {
    auto machine = some_machine();
    machine.groups.at(2).findings.at(0).gap = "node --version said \"\xff\"";
    CHECK(test::contains(nlohmann::json::parse(machine.json()).at("checks").at(4).at("gap").get<std::string>(),
                         "\xEF\xBF\xBD"));
    CHECK(machine.json().find('\n') == std::string::npos);
}
