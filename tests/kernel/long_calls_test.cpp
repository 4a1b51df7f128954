#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"
#include "support/skip.hpp"

/** \file
 * Long calls of the libraries that people use, ended by a timeout: whatever a stock kernel survives, a session
 * survives. tests/python/test_long_calls.py does the same at the other level of the Python side.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

nlohmann::json long_calls() {
    std::ifstream file(source_dir() / "tests" / "support" / "long_calls.json");
    return nlohmann::json::parse(file);
}

/// Keeps the questions of `input()` unanswered.
class silent_person {
  public:
    input_request::handler handler() {
        return [this](input_request request) {
            std::scoped_lock const lock(mutex_);
            asked_.push_back(std::move(request));
        };
    }

  private:
    std::mutex mutex_;
    std::vector<input_request> asked_;
};

bool installed(kernel_box<>& box, std::string const& module) {
    return box.run("import importlib.util\nimportlib.util.find_spec('" + module + "') is not None") == "True";
}

} // namespace

TEST_CASE("a timeout of a library's long call keeps the state", "[kernel]") {
    silent_person person;
    kernel_box<> without_modules;
    kernel_box<> box([&](executor_options& o) {
        for (std::string const name : {"numpy", "pandas", "matplotlib.pyplot"})
            if (installed(without_modules, name.substr(0, name.find('.')))) o.kernel.preload.push_back(name);
    });
    for (auto const& call : long_calls()) {
        auto const name = call.at("name").get<std::string>();
        auto const needs = call.at("needs").get<std::string>();
        INFO(name);
        if (!needs.empty() && !installed(without_modules, needs)) {
            skip(name + ": " + needs + " is not installed");
            continue;
        }
        REQUIRE(box->reset()); // each call has a kernel of its own; libraries that several need are imported once
        CHECK(box.run(call.at("setup").get<std::string>() + "\nkept = 7") == "");
        execute_options options;
        options.timeout = 100ms;
        options.on_input = person.handler();
        auto const r = box->execute(call.at("call").get<std::string>(), options);
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::timed_out);
        CHECK_FALSE(r.error().output()->kernel_restarted);
        CHECK_THAT(r.error().output()->text, !Contains("never awaited"));
        // Workers of a pool may still be writing the tracebacks of their own interrupts.
        CHECK(box->execute("assert kept == 7").has_value());
    }
}
