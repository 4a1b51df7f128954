// The policies of an executor: their types, and how they are reached.

#include <ipybox/approval/auto_approval.hpp>
#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/grants.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>

#include <support/catch.hpp>
#include <support/scripted_box.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using namespace ipybox;
using namespace ipybox::test;

constexpr auto ask = [](approval_request const&) { return decision::reject("no"); };
using callback = callback_approval<std::remove_const_t<decltype(ask)>>;

executor_options const no_options;
scripted_transport no_kernel() { return scripted_transport(std::make_shared<kernel_script>()); }

// --- the types that follow from the arguments, with and without an I/O executor

using io_executor = asio::io_context::executor_type;

template <class Executor, class Transport, class Sandbox, class Approval>
constexpr bool is_of = std::same_as<Executor, basic_executor<Transport, Sandbox, Approval>>;

static_assert(is_of<decltype(basic_executor(no_options, ask)), socketpair_transport, bubblewrap_sandbox, callback>);
static_assert(is_of<decltype(basic_executor(no_options, auto_approval(), no_sandbox())), socketpair_transport,
                    no_sandbox, auto_approval>);
static_assert(is_of<decltype(basic_executor(no_options, ask, no_sandbox(), no_kernel())), scripted_transport,
                    no_sandbox, callback>);
static_assert(is_of<decltype(basic_executor(std::declval<io_executor>(), no_options, ask)), socketpair_transport,
                    bubblewrap_sandbox, callback>);
static_assert(is_of<decltype(basic_executor(std::declval<io_executor>(), no_options, ask, no_sandbox())),
                    socketpair_transport, no_sandbox, callback>);
static_assert(is_of<decltype(basic_executor(std::declval<io_executor>(), no_options, ask, no_sandbox(), no_kernel())),
                    scripted_transport, no_sandbox, callback>);
static_assert(is_of<decltype(basic_executor(no_options, ask, std::declval<runtime>())), socketpair_transport,
                    any_sandbox, callback>);
static_assert(is_of<decltype(basic_executor(std::declval<io_executor>(), no_options, ask, std::declval<runtime>())),
                    socketpair_transport, any_sandbox, callback>);
static_assert(std::derived_from<executor, basic_executor<socketpair_transport, any_sandbox, any_approval>>);
static_assert(sizeof(executor) == sizeof(basic_executor<socketpair_transport, any_sandbox, any_approval>));

// --- what the types say of the executor

static_assert(executor::carries_actions && executor::can_be_guarded);
static_assert(!basic_executor<scripted_transport, no_sandbox, auto_approval>::carries_actions);
static_assert(std::is_base_of_v<executor_base, executor>);
static_assert(!std::is_copy_constructible_v<executor> && std::is_nothrow_move_constructible_v<executor>);

// --- an executor is not moved into its base, nor deleted as that

static_assert(!std::is_constructible_v<executor_base, executor&&>);
static_assert(!std::is_assignable_v<executor_base&, executor&&>);
static_assert(!std::is_destructible_v<executor_base>);

struct numbered_sandbox {
    int number = 0;
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const { return spec; }
};

struct counting_approval {
    int asked = 0;
    decision decide(approval_request const&) {
        ++asked;
        return decision::accept();
    }
};

} // namespace

TEST_CASE("executor: has its policies, also when it was moved") {
    basic_executor box(no_options, counting_approval{.asked = 3}, numbered_sandbox{.number = 7}, no_kernel());
    CHECK(box.sandbox().number == 7);
    CHECK(box.approval().asked == 3);
    box.approval().asked = 4;
    REQUIRE(box.transport());

    auto const* const before = &box.approval();
    auto moved = std::move(box);
    CHECK(&moved.approval() == before);
    CHECK(moved.transport());
    CHECK(box.approval().asked == 4); // NOLINT(bugprone-use-after-move): its policies can still be asked for
    CHECK(box.start().error() == errc::not_running);

    basic_executor other(no_options, counting_approval{.asked = 5}, numbered_sandbox{.number = 8}, no_kernel());
    other = std::move(moved);
    CHECK(other.sandbox().number == 7);
    CHECK(other.approval().asked == 4);
}

TEST_CASE("executor: its approval policy is the one that is asked") {
    asio::io_context context;
    basic_executor box(context.get_executor(), no_options, counting_approval(), no_sandbox(), no_kernel());
    approval_subject subject;
    subject.kind = approval_subject::action::server;
    std::optional<result<std::uint64_t>> said;
    box.async_approve(std::move(subject), [&said](result<std::uint64_t> r) { said = std::move(r); });
    context.run_for(std::chrono::seconds(10));
    REQUIRE(said);
    CHECK(said->has_value());
    CHECK(box.approval().asked == 1);
}

namespace {

/// Has an executor on a context of the test decide about the registration of a server.
class deciding_box {
  public:
    explicit deciding_box(any_approval approval, executor_options options = {})
        : box(context.get_executor(), std::move(options), std::move(approval), no_sandbox(), no_kernel()) {}

    result<std::uint64_t> ask(std::string server) {
        approval_subject subject;
        subject.kind = approval_subject::action::server;
        subject.server = std::move(server);
        std::optional<result<std::uint64_t>> said;
        box.async_approve(std::move(subject), [&said](result<std::uint64_t> r) { said = std::move(r); });
        context.restart();
        context.run_for(std::chrono::seconds(10));
        REQUIRE(said);
        return *said;
    }

    asio::io_context context;
    basic_executor<scripted_transport, no_sandbox, any_approval> box;
};

grant for_server(std::string name) {
    approval_subject subject;
    subject.kind = approval_subject::action::server;
    subject.server = std::move(name);
    return grant::exactly(subject);
}

} // namespace

TEST_CASE("executor: a question that is cancelled has ended, whatever is answered later") {
    std::optional<approval_request> kept;
    deciding_box desk(any_approval([&](approval_request request) { kept = std::move(request); }));
    approval_subject subject;
    subject.kind = approval_subject::action::server;
    subject.server = "one";
    asio::cancellation_signal signal;
    std::optional<result<std::uint64_t>> said;
    desk.box.async_approve(subject, asio::bind_cancellation_slot(
                                        signal.slot(), [&said](result<std::uint64_t> r) { said = std::move(r); }));
    desk.context.poll();
    REQUIRE(kept);
    signal.emit(asio::cancellation_type::terminal);
    desk.context.restart();
    desk.context.run_for(std::chrono::seconds(10));
    REQUIRE(said);
    CHECK(said->error() == condition::cancelled);
    CHECK_FALSE(kept->accept_and_grant(for_server("one")));
    CHECK(desk.box.grants().empty());
}

TEST_CASE("executor: the error of a rejected action says who rejected it") {
    deciding_box by_policy(deny_approval{});
    auto const rejected = by_policy.ask("a");
    REQUIRE_FALSE(rejected);
    CHECK(rejected.error() == errc::approval_rejected);
    CHECK(rejected.error().decided_by() == error::decider::policy);

    deciding_box by_nobody(stream_reader_approval{});
    CHECK(by_nobody.ask("a").error().decided_by() == error::decider::no_policy);

    deciding_box in_vain(
        [](approval_request const& r) {
            static std::optional<approval_request> kept;
            kept = r;
        },
        {.approval = {.timeout = std::chrono::milliseconds(20)}});
    auto const late = in_vain.ask("a");
    CHECK(late.error() == errc::approval_timed_out);
    CHECK(late.error().decided_by() == error::decider::timeout);
}

TEST_CASE("executor: grants are added, listed, used and revoked") {
    deciding_box on(deny_approval{});
    CHECK(on.box.grants().empty());
    CHECK_FALSE(on.ask("z"));
    auto const twice = on.box.add_grant(for_server("a").at_most(2));
    auto const always = on.box.add_grant(for_server("b"));
    CHECK(twice != always);
    REQUIRE(on.box.grants().size() == 2);
    CHECK(on.ask("a"));
    CHECK(on.box.grants()[0].uses_left == 1u);
    CHECK(on.ask("a"));
    CHECK_FALSE(on.ask("a")); // used up
    REQUIRE(on.box.grants().size() == 1);
    CHECK(on.box.grants()[0].number == always);

    CHECK(on.ask("b"));
    CHECK(on.box.revoke_grant(always));
    CHECK_FALSE(on.box.revoke_grant(always));
    CHECK_FALSE(on.ask("b"));
    CHECK(on.box.grants().empty());

    auto const moved = std::move(on.box);
    // NOLINTBEGIN(bugprone-use-after-move)
    CHECK(on.box.add_grant(for_server("c")) == 0);
    CHECK_FALSE(on.box.revoke_grant(1));
    CHECK(on.box.grants().empty());
    // NOLINTEND(bugprone-use-after-move)
}

TEST_CASE("executor: a grant that came with a decision can be revoked") {
    int asked = 0;
    deciding_box on([&asked](approval_request const& request) {
        ++asked;
        request.accept_and_grant(grant::exactly(*request.subject()));
    });
    CHECK(on.ask("a"));
    CHECK(on.ask("a"));
    CHECK(asked == 1);
    REQUIRE(on.box.grants().size() == 1);
    CHECK(on.box.revoke_grant(on.box.grants()[0].number));
    CHECK(on.ask("a"));
    CHECK(asked == 2);
}

TEST_CASE_METHOD(scripted_box, "executor: with a thread of its own, its destructor has called all handlers") {
    for (int round = 0; round < 20; ++round) {
        renew();
        script().expect("a").prints("x").waits_for_interrupt();
        std::atomic<int> called = 0;
        auto const count = [&called](result<execution_result> const&) { ++called; };
        for (int i = 0; i < 3; ++i) (*this)->async_execute("a", count);
        (*this)->async_stop([&called](result<void> const&) { ++called; });
        (*this)->async_execute("a", count);
        drop();
        CHECK(called == 5);
    }
}

TEST_CASE("executor: its transport ends with its I/O context") {
    auto context = std::make_unique<asio::io_context>();
    basic_executor box(context->get_executor(), no_options, auto_approval(), no_sandbox(), no_kernel());
    CHECK(box.transport());
    context.reset();
    CHECK_FALSE(box.transport());
}

TEST_CASE("executor: has a sandbox and an approval of its own where it is given no_options") {
    executor const usual;
    CHECK(usual.sandbox().confines());
    CHECK_FALSE(usual.approval()); // the reader of a stream is asked
    executor const named({}, stream_reader_approval(), no_sandbox());
    CHECK_FALSE(named.sandbox().confines());
    CHECK_FALSE(named.approval());
}

TEST_CASE("executor: one of a runtime has its sandbox") {
    runtime const shared({}, no_sandbox());
    CHECK_FALSE(executor({}, {}, shared).sandbox().confines());
    asio::io_context context;
    CHECK_FALSE(executor(context.get_executor(), {}, {}, shared).sandbox().confines());
    CHECK_FALSE(basic_executor(no_options, auto_approval(), shared).sandbox().confines());
}
