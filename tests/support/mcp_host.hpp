#pragma once

#include <ipybox/mcp/server_registry.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/coroutines.hpp"
#include "support/python.hpp"

/** \file
 * A registry with MCP servers that are real processes.
 */

namespace ipybox::test {

/// tests/mcp/servers/wayward.py, which does as its options say.
inline mcp::server_params wayward(std::vector<std::string> options = {}) {
    mcp::server_params params{python().string(), {(source_dir() / "tests/mcp/servers/wayward.py").string()}};
    params.args.insert(params.args.end(), options.begin(), options.end());
    return params;
}

class mcp_host {
  public:
    mcp_host() = default;
    explicit mcp_host(mcp::registry_options options) : registry_(context_.get_executor(), std::move(options)) {}
    ~mcp_host() { stop(); }

    [[nodiscard]] mcp::server_registry& registry() noexcept { return registry_; }
    [[nodiscard]] asio::io_context& context() noexcept { return context_; }

    /// Registers a server under the name "s", in the place of the one before.
    void use(mcp::server_params params) { REQUIRE(registry_.replace("s", std::move(params))); }

    result<mcp::call_result> call(std::string tool, nlohmann::json arguments = nlohmann::json::object(),
                                  mcp::call_options options = {}) {
        return run(context_, registry_.call("s", std::move(tool), std::move(arguments), std::move(options)));
    }

    /// The text that a tool gives, or the error in angle brackets.
    std::string text(std::string tool, nlohmann::json arguments = nlohmann::json::object()) {
        auto const r = call(std::move(tool), std::move(arguments));
        return r ? r->text() : "<" + r.error().code().message() + ": " + r.error().text() + ">";
    }

    /// The structured content that a tool gives.
    nlohmann::json value(std::string tool, nlohmann::json arguments = nlohmann::json::object()) {
        auto const r = call(std::move(tool), std::move(arguments));
        if (!r) FAIL(r.error().text());
        REQUIRE(r->structured_content);
        return r->structured_content->value();
    }

    error failure_of(std::string tool, nlohmann::json arguments = nlohmann::json::object(),
                     mcp::call_options options = {}) {
        auto r = call(std::move(tool), std::move(arguments), std::move(options));
        REQUIRE_FALSE(r);
        return r.error();
    }

    struct pending {
        std::optional<result<mcp::call_result>> outcome;
        asio::cancellation_signal cancel;
    };

    /// Begins a call, which goes on when the context runs.
    std::shared_ptr<pending> begin(std::string tool, nlohmann::json arguments = nlohmann::json::object(),
                                   std::string server = "s") {
        auto p = std::make_shared<pending>();
        auto const finish = [p](std::exception_ptr, result<mcp::call_result> r) { p->outcome = std::move(r); };
        asio::co_spawn(context_, registry_.call(std::move(server), std::move(tool), std::move(arguments)),
                       asio::bind_cancellation_slot(p->cancel.slot(), finish));
        return p;
    }

    template <class Condition>
    bool until(Condition condition) {
        context_.restart();
        auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!condition() && std::chrono::steady_clock::now() < deadline) context_.run_one_until(deadline);
        return condition();
    }

    /// How long the servers take to end.
    std::chrono::milliseconds stop() {
        auto const begin = std::chrono::steady_clock::now();
        run(context_, registry_.stop());
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    }

  private:
    asio::io_context context_{1};
    mcp::server_registry registry_{context_.get_executor()};
};

/// The names that tests with such servers use.
namespace mcp_host_names {

using namespace std::chrono_literals;
using nlohmann::json;
using test::contains;
using test::mcp_host;
using test::wayward;

} // namespace mcp_host_names
} // namespace ipybox::test
