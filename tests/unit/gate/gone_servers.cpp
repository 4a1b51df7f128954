#include <ipybox/approval/any_approval.hpp>
#include <ipybox/gate/approval_gate.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/subjects.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace {

using ipybox::any_approval;
using ipybox::approval_request;
using ipybox::approval_subject;
using ipybox::decision;
using ipybox::error;
using ipybox::grant;
using ipybox::detail::approval_gate;
using ipybox::detail::approval_settings;
using ipybox::detail::verdict;
using ipybox::test::contains;
using ipybox::test::tool_subject;

/// A gate that is asked about one call of the tool `t` of the server `s`, which is replaced while the policy decides.
class replacing_host {
  public:
    explicit replacing_host(bool of_application = false) : gate_(approval_settings()) {
        subject_.of_application = of_application;
    }

    void replace(std::string const& server) { gate_.forgetting_servers()(server); }

    verdict decide(any_approval policy) {
        std::optional<verdict> said;
        auto const keep = [&said](std::exception_ptr thrown, std::optional<verdict> answer) {
            CHECK_FALSE(thrown);
            said = std::move(answer);
        };
        auto pending = verdict_of(gate_.decide(subject_, std::move(policy)));
        asio::co_spawn(context_, std::move(pending), keep);
        context_.run();
        REQUIRE(said);
        return *said;
    }

    [[nodiscard]] std::size_t granted() const { return gate_.active_grants().size(); }

    [[nodiscard]] decision accept_for_ever() const { return decision::accept().and_grant(grant::exactly(subject_)); }

  private:
    static asio::awaitable<std::optional<verdict>> verdict_of(asio::awaitable<verdict> pending) {
        std::optional<verdict> said = co_await std::move(pending);
        co_return said;
    }

    asio::io_context context_;
    approval_gate gate_;
    approval_subject subject_ = tool_subject("s", "t", {{"a", 1}}, "c1");
};

} // namespace

TEST_CASE("gate: a policy that replaces the server that it is asked about, and accepts") {
    replacing_host host;
    std::optional<verdict> said;
    SECTION("at once") {
        said = host.decide(any_approval([&](approval_request const&) {
            host.replace("s");
            return host.accept_for_ever();
        }));
    }
    SECTION("from its coroutine") {
        said = host.decide(any_approval([&](approval_request) -> asio::awaitable<decision> {
            host.replace("s");
            co_return host.accept_for_ever();
        }));
    }
    SECTION("right behind its answer") {
        said = host.decide(any_approval([&](approval_request const& request) {
            request.answer(host.accept_for_ever());
            host.replace("s");
        }));
    }
    CHECK_FALSE(said->accepted());
    CHECK(said->by == error::decider::cancellation);
    CHECK(contains(said->made.reason(), "the server 's' was removed or replaced meanwhile"));
    CHECK(host.granted() == 0);
}

TEST_CASE("gate: a policy that replaces another server, or is asked by the application") {
    bool const of_application = GENERATE(false, true);
    replacing_host host(of_application);
    auto const said = host.decide(any_approval([&](approval_request const&) {
        host.replace(of_application ? "s" : "other");
        return host.accept_for_ever();
    }));
    CHECK(said.accepted());
    CHECK(host.granted() == 1);
}
