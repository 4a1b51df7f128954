#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/value_names.hpp>
#include <ipybox/mcp/variables.hpp>

#include <support/catch.hpp>

#include <optional>
#include <string>

using namespace ipybox;
using namespace ipybox::mcp;

TEST_CASE("value_names: names stand for values, the longest first, and short values stay") {
    mcp::detail::value_names names;
    names.add({{"KEY", "secret"}, {"LONG", "secret-key"}, {"DEBUG", "1"}});
    CHECK(names.put_into("secret-key, secret, secret-keys: 1") == "${LONG}, ${KEY}, ${LONG}s: 1");
    CHECK(names.put_into("").empty());
    CHECK(mcp::detail::value_names().put_into("as it is") == "as it is");
}

TEST_CASE("value_names: an error begins with a line for everyone, and has the rest below it") {
    mcp::detail::value_names names;
    names.add("KEY", "secret");
    auto const shown = [&](std::string text) {
        return names.in_public(error(errc::mcp_start_failed, std::move(text))).text();
    };
    CHECK(shown("ended") == "ended");
    CHECK(shown("cannot be started: /secret/x") == "cannot be started: /${KEY}/x\ncannot be started: /secret/x");
    CHECK(shown("ended\nit said:\n\n  the secret  \nmore") ==
          "ended; it said: the ${KEY}\nit said:\n\n  the secret  \nmore");
    CHECK(shown("ended\nit said:\n\n") == "ended\nit said:\n\n");
    CHECK(shown("ended\nit said:\n" + std::string(1000, 'x')) ==
          "ended; it said: " + std::string(300, 'x') + "\nit said:\n" + std::string(1000, 'x'));
}

TEST_CASE("value_names: values that are put into parameters have names, the home directory has none") {
    mcp::server_params params;
    params.command = "~/${DIR}/server";
    params.args = {"${env:TOKEN}", "${UNSET:-default}"};
    mcp::detail::value_names names;
    auto const look_up = [](std::string const& name) -> std::optional<std::string> {
        if (name == "UNSET") return std::nullopt;
        return name == "HOME" ? "/home/me" : "value-of-" + name;
    };
    auto const put = mcp::detail::put_variables(params, look_up, {}, &names);
    REQUIRE(put);
    CHECK(names.put_into(put->command + " " + put->args[0] + " " + put->args[1]) ==
          "/home/me/${DIR}/server ${TOKEN} default");
}
