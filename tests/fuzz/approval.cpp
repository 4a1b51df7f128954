// libFuzzer target: what a kernel could want done, and what rules files and deciding programs could say.
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I include -I tests tests/fuzz/approval.cpp -lcrypto -o fuzz_approval
//     ./fuzz_approval --seed DIR && ./fuzz_approval -max_total_time=60 DIR
//
// The first byte chooses what the rest is.

#include <ipybox/approval/decision.hpp>
#include <ipybox/rules/approval_rules.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/shell_line.hpp>

#include <fuzz/seeds.hpp>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ipybox;
using fuzz::require;
using json = nlohmann::ordered_json;

enum input_kind : unsigned char { line, rules, decision_text, input_kinds };

approval_subject shell(std::string_view text) {
    return {.kind = approval_subject::action::shell, .argv = {"/bin/sh", "-c", std::string(text)}, .cwd = "/work"};
}

void fuzz_line(std::string_view text) {
    static auto const allow_some =
        approval_rules::parse(R"({"allow":[{"argv":["a*","**"]},{"argv":["a"],"env":["*"]}]})").value();
    static auto const deny_all =
        approval_rules::parse(R"({"allow":[{"argv":["a*","**"]}],"deny":[{"kind":"shell"}]})").value();
    auto const split = ipybox::detail::split_shell_line(text);
    auto const found = allow_some.judge(shell(text));
    if (!split.understood() || split.commands.empty()) require(found.effect == approval_rules::effect::ask);
    // A line that runs a program is never allowed where every program is denied.
    require(deny_all.judge(shell(text)).effect != approval_rules::effect::allow);
}

void fuzz_rules(std::string_view text) {
    auto const read = approval_rules::parse(text);
    if (!read) return require(read.error() == errc::invalid_argument && !read.error().text().empty());
    (void)read->judge(shell("a; b $(c)"));
    approval_subject const call{.server = "s",
                                .tool = "t",
                                .arguments =
                                    std::make_shared<nlohmann::ordered_json const>(json{{"a", {1, "b", nullptr}}})};
    (void)read->judge(call);
}

void fuzz_decision(std::string_view text) {
    auto const read = decision::from_json(text);
    if (!read) return require(read.error() == errc::invalid_argument && !read.error().text().empty());
    require(read->id > 0);
    if (auto const* granted = read->made.granted()) {
        require(read->made.accepted());
        auto const again = grant::from_json(granted->to_json());
        require(again.has_value() && again->to_json() == granted->to_json());
    }
}

fuzz::seed seed_of(char const* name, input_kind kind, std::string const& text) {
    return {name, static_cast<char>(kind) + text};
}

} // namespace

std::vector<fuzz::seed> ipybox::fuzz::seeds() {
    return {
        seed_of("line", line, "A=1 a 'b' \"$c\" `d` $(e) | (f; g) >/dev/null 2>&1 && env h -c 'i j' # k"),
        seed_of(
            "rules", rules,
            R"({"allow":[{"tool":"s.*","where":[{"path":"/a/0","op":"<=","value":100}]}],"deny":[{"argv":["a","**"]}]})"),
        seed_of("decision", decision_text,
                R"({"id":7,"decision":"accept","grant":{"tool":"pay.*","uses":2,"seconds":60,"scope":"cell"}})"),
        seed_of("exact", decision_text,
                R"({"id":7,"decision":"accept","grant":{"action":{"kind":"shell","argv":["a"],"env":{"A":null}}}})")};
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 1) return 0;
    std::string_view const input(reinterpret_cast<char const*>(data) + 1, size - 1);
    switch (data[0] % input_kinds) {
    case line: fuzz_line(input); break;
    case rules: fuzz_rules(input); break;
    case decision_text: fuzz_decision(input); break;
    default: break;
    }
    return 0;
}
