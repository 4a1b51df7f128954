#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/auto_approval.hpp>
#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/gate/approval_gate.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>
#include <support/subjects.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using asio::awaitable;
using ipybox::any_approval;
using ipybox::approval_request;
using ipybox::approval_subject;
using ipybox::audit_log;
using ipybox::decision;
using ipybox::error;
using ipybox::grant;
using ipybox::detail::approval_gate;
using ipybox::detail::approval_settings;
using ipybox::detail::verdict;
using ipybox::test::contains;
using ipybox::test::json_lines;
using ipybox::test::shell_subject;
using ipybox::test::tool_subject;
using nlohmann::json;

approval_subject some_call(std::string tool = "t", json arguments = {{"a", 1}}, std::string cell = "c1") {
    auto subject = tool_subject("s", std::move(tool), std::move(arguments), std::move(cell));
    subject.code = "t(a=1)";
    return subject;
}

/// A gate, where it runs, and what it said.
class desk {
  public:
    explicit desk(approval_settings settings = {}) {
        auto const count = [this](approval_gate::clock::time_point) { counts.push_back(gate->waiting()); };
        gate.emplace(std::move(settings), count);
    }

    /// Begins to decide; the verdict comes into `said[i]`, i being returned.
    std::size_t begin(approval_subject subject, any_approval policy = {}, asio::cancellation_slot slot = {}) {
        auto const index = said.size();
        said.emplace_back();
        auto done = [this, index](std::exception_ptr thrown, std::optional<verdict> r) {
            CHECK_FALSE(thrown);
            said[index] = std::move(r);
        };
        auto pending = optional_verdict(gate->decide(std::move(subject), std::move(policy)));
        asio::co_spawn(context, std::move(pending), asio::bind_cancellation_slot(slot, done));
        return index;
    }

    verdict decide(approval_subject subject, any_approval policy = {}) {
        auto const index = begin(std::move(subject), std::move(policy));
        run();
        REQUIRE(said[index]);
        return *said[index];
    }

    /// Until there is nothing to do now.
    void settle() {
        context.restart();
        context.poll();
    }

    /// Until there is nothing left to do, or for a while.
    void run(std::chrono::milliseconds bound = 10s) {
        context.restart();
        context.run_for(bound);
    }

    asio::io_context context;
    std::optional<approval_gate> gate;
    std::vector<std::optional<verdict>> said;
    std::vector<std::size_t> counts; ///< as the hook was told

  private:
    static awaitable<std::optional<verdict>> optional_verdict(awaitable<verdict> pending) {
        std::optional<verdict> r = co_await std::move(pending);
        co_return r;
    }
};

/// Keeps requests, for somebody to answer later: what a stream does.
struct keeper {
    std::vector<approval_request> kept;
    any_approval policy() {
        return any_approval([this](approval_request request) { kept.push_back(std::move(request)); });
    }
};

} // namespace

TEST_CASE("gate: a policy decides, in each of its shapes") {
    desk d;
    CHECK(d.decide(some_call(), ipybox::auto_approval{}).accepted());
    auto const denied = d.decide(some_call("u"), ipybox::deny_approval{});
    CHECK_FALSE(denied.accepted());
    CHECK(denied.by == error::decider::policy);
    CHECK(denied.made.reason() == "this application approves nothing");
    CHECK(d.decide(some_call(), [](approval_request r) { r.accept(); }).accepted());
    auto const edited = d.decide(some_call(), [](approval_request const& r) -> awaitable<decision> {
        auto const here = co_await asio::this_coro::executor;
        co_await asio::post(here, asio::use_awaitable);
        auto arguments = r.arguments();
        arguments["a"] = 2;
        co_return decision::accept(std::move(arguments));
    });
    REQUIRE(edited.made.edited_arguments());
    CHECK(*edited.made.edited_arguments() == nlohmann::ordered_json{{"a", 2}});
    CHECK(d.gate->waiting() == 0);
}

TEST_CASE("approval gate: what has to be shown first is awaited where a policy is asked, and nowhere else") {
    approval_settings settings;
    settings.rules = ipybox::approval_rules::parse(R"({"allow":[{"tool":"s.ruled"}]})").value();
    desk d(settings);
    std::vector<std::string> order;
    auto const show = [&order]() -> awaitable<void> {
        order.push_back("shown");
        co_return;
    };
    auto const policy = [&order](approval_request const& r) {
        order.push_back("asked " + r.tool());
        return decision::accept();
    };
    auto const decide = [&](std::string tool) -> awaitable<void> {
        auto call = some_call(tool);
        auto const said = co_await d.gate->decide(std::move(call), policy, show);
        CHECK(said.accepted());
    };
    asio::co_spawn(d.context, decide("ruled"), [](std::exception_ptr) {});
    asio::co_spawn(d.context, decide("other"), [](std::exception_ptr) {});
    d.run();
    CHECK(order == std::vector<std::string>{"shown", "asked other"});
}

TEST_CASE("approval gate: a request that is taken back does not wait for what has to be shown first") {
    desk d;
    bool asked = false;
    auto const never = [&d]() -> awaitable<void> {
        asio::steady_timer forever(d.context, 1h);
        co_await forever.async_wait(asio::use_awaitable);
    };
    std::optional<verdict> said;
    auto const decide = [&]() -> awaitable<void> {
        auto const policy = [&asked](approval_request r) {
            asked = true;
            r.accept();
        };
        auto call = some_call();
        said = co_await d.gate->decide(std::move(call), policy, never);
    };
    asio::co_spawn(d.context, decide, [](std::exception_ptr) {});
    d.settle();
    d.gate->cancel_all();
    d.run();
    REQUIRE(said);
    CHECK(said->by == error::decider::cancellation);
    CHECK_FALSE(asked);
}

TEST_CASE("W20: without a policy, everything is rejected") {
    desk d;
    auto const said = d.decide(some_call());
    CHECK_FALSE(said.accepted());
    CHECK(said.made.reason() ==
          "this application has no approval policy: give its executor one, or answer the requests in stream()");
    for (auto const kind : {approval_subject::action::shell, approval_subject::action::shell_magic,
                            approval_subject::action::package, approval_subject::action::server})
        CHECK_FALSE(d.decide({.kind = kind}).accepted());
}

TEST_CASE("W20: code that asks again and again is asked about once") {
    desk d;
    int asked = 0;
    any_approval const policy([&asked](approval_request const&) {
        ++asked;
        return decision::reject("no");
    });
    for (int i = 0; i < 5; ++i) CHECK_FALSE(d.decide(some_call(), policy).accepted());
    CHECK(asked == 1);
    CHECK(d.decide(some_call(), policy).by == error::decider::repetition);
    CHECK_FALSE(d.decide(some_call("t", {{"a", 2}}), policy).accepted());
    CHECK(asked == 2);
    CHECK_FALSE(d.decide(some_call("t", {{"a", 1}}, "c2"), policy).accepted());
    CHECK(asked == 3);
}

TEST_CASE("gate: exceptions, dropped requests and edited arguments of what has none reject") {
    desk d;
    CHECK(d.decide(some_call("a"), [](approval_request) -> decision {
               throw std::runtime_error("no dialog");
           }).made.reason() == "the approval policy failed: no dialog");
    CHECK(d.decide(some_call("b"), [](approval_request) {}).made.reason() ==
          "the approval request was dropped without an answer");
    CHECK(contains(d.decide(shell_subject("ls"), [](approval_request r) { r.accept(json::object()); }).made.reason(),
                   "a shell command has none"));
    // A stream that is left drops what it has not read.
    keeper stream;
    auto const index = d.begin(some_call("c"), stream.policy());
    d.settle();
    REQUIRE(stream.kept.size() == 1);
    stream.kept.clear();
    d.run();
    CHECK(d.said[index]->made.reason() == "the approval request was dropped without an answer");
}

TEST_CASE("W5: no decision is left open for somebody else, and a request knows only its own answer") {
    desk d;
    keeper stream;
    auto const first = d.begin(some_call("mine", {{"a", 1}}), stream.policy());
    auto const second = d.begin(some_call("other", {{"a", 1}}), stream.policy());
    d.settle();
    REQUIRE(stream.kept.size() == 2);
    CHECK(stream.kept[0].accept());
    d.settle();
    REQUIRE(d.said[first]);
    CHECK(d.said[first]->accepted());
    CHECK_FALSE(d.said[second]); // one acceptance is for one action
    CHECK_FALSE(stream.kept[0].accept());
    d.gate->cancel_cell("c1");
    d.run();
    CHECK(d.said[second]->by == error::decider::cancellation);
    CHECK_FALSE(stream.kept[1].accept()); // nor can it be answered between cells
}

TEST_CASE("Q16: the policy is shown all there is to know") {
    desk d({.approval_timeout = 1h});
    std::optional<approval_request> seen;
    auto subject = shell_subject("ls");
    subject.env = {{"A", "1"}};
    subject.input = "in";
    subject.code = "!ls";
    (void)d.decide(subject, [&seen](approval_request const& r) {
        seen = r;
        return decision::accept();
    });
    REQUIRE(seen);
    CHECK(seen->id() != 0);
    CHECK(seen->kind() == approval_subject::action::shell);
    CHECK(seen->argv() == subject.argv);
    CHECK(seen->cwd() == "/work");
    CHECK(seen->env() == subject.env);
    CHECK(seen->input() == "in");
    CHECK(seen->code() == "!ls");
    CHECK(seen->cell_id() == "c1");
    REQUIRE(seen->deadline());
    CHECK(*seen->deadline() > std::chrono::steady_clock::now() + 59min);
    auto const last = seen->id();
    (void)d.decide(some_call(), [&seen](approval_request const& r) {
        seen = r;
        return decision::accept();
    });
    CHECK(seen->id() > last);
}

TEST_CASE("gate: nobody decides in time") {
    desk d({.approval_timeout = 20ms});
    keeper stream;
    auto const began = std::chrono::steady_clock::now();
    auto const said = d.decide(some_call(), stream.policy());
    CHECK(said.by == error::decider::timeout);
    CHECK(said.made.reason() == "no decision came within 0.02 s");
    CHECK(said.refusal() == ipybox::errc::approval_timed_out);
    CHECK(said.waited >= 20ms);
    CHECK(std::chrono::steady_clock::now() - began < 5s);
    REQUIRE(stream.kept.size() == 1);
    CHECK_FALSE(stream.kept[0].accept()); // told that it is late
}

TEST_CASE("gate: times at their limits") {
    using std::chrono::milliseconds;
    for (auto const forever : {milliseconds::max(), milliseconds::max() - 1ms}) {
        desk d({.approval_timeout = forever});
        keeper stream;
        auto const asked = d.begin(some_call(), stream.policy());
        d.run(20ms);
        REQUIRE(stream.kept.size() == 1);
        CHECK(stream.kept[0].accept());
        d.settle();
        REQUIRE(d.said[asked]);
        CHECK(d.said[asked]->made.accepted());
    }
    for (auto const none : {milliseconds::min(), -1ms, 0ms}) {
        desk d({.approval_timeout = none});
        keeper stream;
        CHECK(d.decide(some_call(), stream.policy()).by == error::decider::timeout);
    }
}

TEST_CASE("Q10: each request has its own clock") {
    desk d({.approval_timeout = 300ms});
    keeper stream;
    auto const first = d.begin(some_call("first"), stream.policy());
    d.settle();
    REQUIRE(stream.kept.size() == 1); // whose clock runs
    d.run(200ms);
    auto const second = d.begin(some_call("second"), stream.policy());
    d.settle();
    REQUIRE(stream.kept.size() == 2);
    auto const answered = d.begin(some_call("third"), [](approval_request const&) { return decision::accept(); });
    d.settle();
    CHECK(d.said[answered]); // a decision for one moves no deadline of another
    CHECK(*stream.kept[1].deadline() - *stream.kept[0].deadline() >= 199ms);
    d.run();
    CHECK(d.said[first]->by == error::decider::timeout);
    CHECK(d.said[second]->by == error::decider::timeout);
    CHECK(d.said[first]->waited >= 300ms);
    CHECK(d.said[second]->waited >= 300ms);
}

TEST_CASE("gate: a policy that never comes back holds up nobody") {
    desk d({.approval_timeout = 20ms});
    asio::steady_timer never(d.context, 1h);
    bool cancelled = false;
    auto const polite = d.decide(some_call("a"), [&](approval_request) -> awaitable<decision> {
        try {
            co_await never.async_wait(asio::use_awaitable);
        } catch (std::exception const&) {
            cancelled = true;
            throw;
        }
        co_return decision::accept();
    });
    CHECK(polite.by == error::decider::timeout);
    CHECK(cancelled);

    // One that does not listen to cancellation, and accepts when it is too late.
    std::optional<bool> first;
    auto const deaf = d.begin(some_call("b"), [&](approval_request request) -> awaitable<decision> {
        co_await asio::this_coro::reset_cancellation_state([](auto) { return asio::cancellation_type::none; });
        asio::steady_timer slow(d.context, 60ms);
        co_await slow.async_wait(asio::use_awaitable);
        first = request.accept();
        co_return decision::accept();
    });
    d.run();
    CHECK(d.said[deaf]->by == error::decider::timeout);
    CHECK(d.said[deaf]->waited < 60ms);
    REQUIRE(first);
    CHECK_FALSE(*first);
}

TEST_CASE("gate: an answer that was first counts, also when its time is over as it arrives") {
    desk d({.approval_timeout = 200ms});
    keeper stream;
    auto const index = d.begin(some_call(), stream.policy());
    d.settle();
    REQUIRE(stream.kept.size() == 1);
    CHECK(stream.kept[0].accept());
    std::this_thread::sleep_until(*stream.kept[0].deadline() + 1ms); // both are ready now
    d.run();
    CHECK(d.said[index]->accepted());
}

TEST_CASE("gate: the number of those that wait is told when it changes") {
    desk d({.approve_tool_calls = false});
    keeper stream;
    (void)d.decide(some_call(), stream.policy());
    CHECK(d.counts.empty()); // nobody was asked
    for (auto const* const line : {"a", "b", "c"}) d.begin(shell_subject(line), stream.policy());
    d.settle();
    CHECK(d.counts == std::vector<std::size_t>{1, 2, 3});
    CHECK(d.gate->waiting() == 3);
    stream.kept[1].accept();
    d.settle();
    CHECK(d.gate->waiting() == 2);
    d.gate->cancel_all();
    d.run();
    CHECK(d.counts == std::vector<std::size_t>{1, 2, 3, 2, 1, 0});
}

TEST_CASE("gate: a policy that decides at once has nothing that waits") {
    desk d({.approval_timeout = 1h});
    CHECK(d.decide(shell_subject("a"), ipybox::auto_approval{}).accepted());
    CHECK_FALSE(d.decide(shell_subject("b"), ipybox::deny_approval{}).accepted());
    CHECK(d.counts.empty());
    // One that answers through the request may take its time.
    CHECK(d.decide(shell_subject("c"), [](approval_request const& r) { r.accept(); }).accepted());
    CHECK(d.counts == std::vector<std::size_t>{1, 0});
}

TEST_CASE("gate: a policy that decides at once is bound by what binds the others") {
    desk d;
    auto const throws = [](approval_request const&) -> decision { throw std::runtime_error("no dialog"); };
    CHECK(d.decide(some_call("a"), throws).made.reason() == "the approval policy failed: no dialog");
    auto const edits = [](approval_request const&) { return decision::accept(nlohmann::ordered_json::object()); };
    CHECK(contains(d.decide(shell_subject("ls"), edits).made.reason(), "a shell command has none"));

    // The first answer counts, and there is one when the policy has returned.
    std::optional<approval_request> kept;
    auto const answers_twice = [&kept](approval_request const& r) {
        kept = r;
        r.reject("no");
        return decision::accept();
    };
    CHECK(d.decide(some_call("b"), answers_twice).made.reason() == "no");
    auto const keeps = [&kept](approval_request const& r) {
        kept = r;
        return decision::reject("never");
    };
    CHECK(d.decide(some_call("c"), keeps).made.reason() == "never");
    CHECK_FALSE(kept->accept());

    // The executor ends in another thread while it decides.
    auto const too_late = [&d](approval_request const&) {
        d.gate->abandon();
        return decision::accept();
    };
    auto const ended = d.decide(some_call("d"), too_late);
    CHECK(ended.made.reason() == "the executor has ended");
    CHECK(ended.by == error::decider::cancellation);
}

TEST_CASE("gate: a call that was cancelled before is not put to a policy that decides at once") {
    desk d;
    bool asked = false;
    asio::cancellation_signal stop;
    std::optional<verdict> said;
    auto const policy = [&asked](approval_request const&) {
        asked = true;
        return decision::accept();
    };
    auto const cancelled_call = [&]() -> awaitable<void> {
        co_await asio::this_coro::throw_if_cancelled(false);
        stop.emit(asio::cancellation_type::terminal);
        auto call = some_call();
        said = co_await d.gate->decide(std::move(call), policy);
    };
    auto const done = [](std::exception_ptr) {};
    asio::co_spawn(d.context, cancelled_call, asio::bind_cancellation_slot(stop.slot(), done));
    d.run();
    REQUIRE(said);
    CHECK(said->by == error::decider::cancellation);
    CHECK_FALSE(asked);
}

namespace {

/// Counts how often it is asked.
struct counting_annotations : ipybox::detail::annotation_source {
    std::optional<ipybox::approval_subject::tool_annotations> annotations(std::string const& server,
                                                                          std::string const& tool) const override {
        ++asked;
        CHECK(server == "s");
        if (tool == "new") return std::nullopt;
        return ipybox::approval_subject::tool_annotations{.read_only = true};
    }
    mutable int asked = 0;
};

} // namespace

TEST_CASE("gate: what a tool says about itself is looked up where somebody asks, and nowhere else") {
    auto const source = std::make_shared<counting_annotations>();
    auto const call = [&source](std::string tool) {
        auto subject = some_call(std::move(tool));
        subject.annotations = ipybox::detail::stated_annotations(source);
        return subject;
    };
    auto const with_rules = [](std::string const& text) {
        approval_settings settings;
        settings.rules = ipybox::approval_rules::parse(text).value();
        return settings;
    };
    desk plain(with_rules(R"({"allow":[{"tool":"s.ruled"}]})"));
    CHECK(plain.decide(call("ruled"), ipybox::deny_approval{}).accepted());
    CHECK(plain.decide(call("other"), ipybox::auto_approval{}).accepted());
    CHECK(source->asked == 0);

    auto const readers = [](approval_request const& r) {
        return r.annotations() && r.annotations()->read_only ? decision::accept() : decision::reject();
    };
    CHECK(plain.decide(call("third"), readers).accepted());
    CHECK(source->asked == 2);
    CHECK_FALSE(plain.decide(call("new"), readers).accepted());

    source->asked = 0;
    desk ruled(with_rules(R"({"allow":[{"tool":"*.read*","annotations":{"readOnlyHint":true}}]})"));
    CHECK_FALSE(ruled.decide(call("write"), ipybox::deny_approval{}).accepted());
    CHECK(source->asked == 0); // its name decides
    CHECK(ruled.decide(call("read"), ipybox::deny_approval{}).accepted());
    CHECK(source->asked == 1);
}

TEST_CASE("gate: the end of a cell rejects what it waits for, and what it asks for later") {
    desk d;
    keeper stream;
    auto const mine = d.begin(some_call("a"), stream.policy());
    auto const other = d.begin(some_call("a", {{"a", 1}}, "c2"), stream.policy());
    d.settle();
    d.gate->cancel_cell("c1");
    d.settle();
    REQUIRE(d.said[mine]);
    CHECK(d.said[mine]->by == error::decider::cancellation);
    CHECK_FALSE(d.said[other]);
    CHECK_FALSE(stream.kept[0].accept());
    CHECK(d.decide(some_call("b"), ipybox::auto_approval{}).by == error::decider::cancellation);
    stream.kept[1].accept();
    d.run();
    CHECK(d.said[other]->accepted());
}

TEST_CASE("gate: cancelling a decision that waits rejects it") {
    desk d;
    keeper stream;
    asio::cancellation_signal signal;
    auto const waiting = d.begin(some_call(), stream.policy(), signal.slot());
    d.settle();
    signal.emit(asio::cancellation_type::terminal);
    d.run();
    CHECK(d.said[waiting]->by == error::decider::cancellation);
    CHECK_FALSE(stream.kept[0].accept());
    CHECK(d.counts.back() == 0);
}

TEST_CASE("gate: may go while requests wait") {
    desk d;
    keeper stream;
    auto const index = d.begin(some_call(), stream.policy());
    d.settle();
    d.counts.clear();
    d.gate.reset();
    d.run();
    CHECK(d.said[index]->by == error::decider::cancellation);
    CHECK(d.counts.empty());
    CHECK_FALSE(stream.kept[0].accept());
}

TEST_CASE("gate: a request may grant what comes next") {
    desk d;
    int asked = 0;
    any_approval const policy([&asked](approval_request const& r) {
        ++asked;
        r.accept_and_grant(grant::this_tool(*r.subject()).at_most(3));
    });
    for (int i = 0; i < 3; ++i) CHECK(d.decide(some_call("t", {{"a", i}}), policy).accepted());
    CHECK(asked == 1);
    CHECK(d.decide(some_call("t", {{"a", 9}}), policy).granted == 2u);
    CHECK(asked == 2);
    CHECK(d.gate->revoke_grant(2));
    CHECK_FALSE(d.gate->revoke_grant(2));
    auto const number = d.gate->add_grant(grant::exactly(shell_subject("ls")));
    CHECK(d.decide(shell_subject("ls")).detail == "grant " + std::to_string(number));
    CHECK_FALSE(d.decide(shell_subject("ls -l")).accepted());
}

TEST_CASE("gate: arguments of 500 levels are asked about, and deeper ones are not") {
    auto const decided = [](std::size_t levels) {
        desk d;
        auto subject = some_call();
        auto nested = nlohmann::ordered_json::parse(std::string(levels, '[') + std::string(levels, ']'));
        subject.arguments = std::make_shared<nlohmann::ordered_json const>(std::move(nested));
        return d.decide(subject, ipybox::auto_approval{}).by;
    };
    CHECK(decided(500) == error::decider::policy);
    CHECK(decided(501) == error::decider::limit);
}

TEST_CASE("gate: while long arguments are read, other requests are decided", "[tsan]") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    desk d({.audit = audit_log::open({.file = file}).value()});
    auto const here = std::this_thread::get_id();
    std::promise<void> decided;
    bool went_on = false;
    auto call = some_call("long");
    call.arguments = ipybox::detail::tool_arguments::built_by([&, waiting = decided.get_future().share()] {
        CHECK(std::this_thread::get_id() != here);
        went_on = waiting.wait_for(10s) == std::future_status::ready;
        return nlohmann::ordered_json{{"a", 2}};
    });
    auto const reading = d.begin(std::move(call), ipybox::auto_approval{});
    auto const other = d.begin(some_call("short"), ipybox::auto_approval{});
    d.settle();
    REQUIRE(d.said[other]);
    CHECK(d.said[other]->accepted());
    CHECK_FALSE(d.said[reading]);
    decided.set_value();
    d.run();
    CHECK(went_on);
    REQUIRE(d.said[reading]);
    CHECK(d.said[reading]->accepted());
    auto const records = json_lines(file);
    REQUIRE(records.size() == 4);
    CHECK(records[2]["tool"] == "long");
    CHECK(records[2]["arguments"] == json{{"a", 2}});
}

TEST_CASE("gate: long arguments that were rejected are known again", "[tsan]") {
    desk d(approval_settings{});
    auto const call = [](int number) {
        auto made = some_call();
        made.cell_id = "cell";
        made.arguments =
            ipybox::detail::tool_arguments::built_by([number] { return nlohmann::ordered_json{{"a", number}}; });
        return made;
    };
    auto const reject = [](ipybox::approval_request const&) { return decision::reject("no"); };
    CHECK(d.decide(call(1), reject).by == error::decider::policy);
    CHECK(d.decide(call(1), ipybox::auto_approval{}).by == error::decider::repetition);
    CHECK(d.decide(call(2), ipybox::auto_approval{}).accepted());
    auto const reject_later = [](ipybox::approval_request request) { request.reject("no"); };
    CHECK(d.decide(call(3), reject_later).by == error::decider::policy);
    CHECK(d.decide(call(3), ipybox::auto_approval{}).by == error::decider::repetition);
}

TEST_CASE("gate: a call with long arguments that is cancelled while it is asked has a verdict", "[tsan]") {
    desk d(approval_settings{});
    asio::cancellation_signal stop;
    auto call = some_call();
    call.arguments = ipybox::detail::tool_arguments::built_by([] { return nlohmann::ordered_json{{"a", 1}}; });
    std::optional<ipybox::approval_request> kept;
    auto const keep = [&kept](ipybox::approval_request request) { kept = std::move(request); };
    auto const asked = d.begin(std::move(call), keep, stop.slot());
    auto const until = std::chrono::steady_clock::now() + 10s;
    while (!kept && std::chrono::steady_clock::now() < until) d.settle();
    REQUIRE(kept);
    stop.emit(asio::cancellation_type::terminal);
    d.run();
    REQUIRE(d.said[asked]);
    CHECK(d.said[asked]->by == error::decider::cancellation);
}

TEST_CASE("gate: arguments are built only where they are read") {
    int built = 0;
    auto const call = [&built] {
        auto made = some_call();
        made.arguments = ipybox::detail::tool_arguments::built_by([&built] {
            ++built;
            return nlohmann::ordered_json::object();
        });
        return made;
    };
    auto const rules = ipybox::approval_rules::parse(R"({"deny":[{"tool":"pay.*"}]})").value();
    CHECK(desk({.approve_tool_calls = false}).decide(call(), ipybox::auto_approval{}).accepted());
    CHECK(built == 0);
    CHECK(desk({.approve_tool_calls = false, .rules = rules}).decide(call(), ipybox::auto_approval{}).accepted());
    CHECK(desk(approval_settings()).decide(call(), ipybox::auto_approval{}).accepted());
    CHECK(built == 2);
}

TEST_CASE("gate: arguments beyond reading are not asked, nor written down") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    desk d({.approve_tool_calls = false, .audit = audit_log::open({.file = file}).value()});
    auto abyss = nlohmann::ordered_json::parse(std::string(200'000, '[') + std::string(200'000, ']'));
    auto subject = some_call();
    subject.arguments = std::make_shared<nlohmann::ordered_json const>(std::move(abyss));
    CHECK(d.decide(subject, ipybox::auto_approval{}).by == error::decider::limit);
    auto const all = json_lines(file);
    REQUIRE(all.size() == 2);
    CHECK_FALSE(all[0].contains("arguments"));
    CHECK(all[1]["by"] == "limit");
}

TEST_CASE("Q16: requests, decisions and outcomes are on record") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    approval_settings settings{.approve_shell_cmds = false, .calls_per_cell = 5};
    settings.audit = audit_log::open({.file = file}).value();
    settings.rules = ipybox::approval_rules::parse(R"({"deny":[{"argv":["rm","**"]}]})").value();
    desk d(settings);
    (void)d.decide(shell_subject("ls"));
    (void)d.decide(shell_subject("rm x"));
    (void)d.decide(some_call("a"), [](approval_request const&) { return decision::reject("no"); });
    (void)d.decide(some_call("a"));
    (void)d.decide(some_call("b"), ipybox::auto_approval{});
    (void)d.decide(some_call("b"), ipybox::auto_approval{});
    auto all = json_lines(file);
    REQUIRE(all.size() == 12);
    std::vector<std::string> by;
    for (std::size_t i = 0; i < all.size(); i += 2) {
        CHECK(all[i]["record"] == "request");
        CHECK(all[i + 1]["record"] == "decision");
        CHECK(all[i]["id"] == all[i + 1]["id"]);
        by.push_back(all[i + 1]["decision"].get<std::string>() + " " + all[i + 1]["by"].get<std::string>());
    }
    CHECK(by == std::vector<std::string>{"accept switched_off", "reject rule", "reject policy", "reject repetition",
                                         "accept policy", "reject budget"});
    auto const id = all[0]["id"].get<std::uint64_t>();
    CHECK(d.gate->finished(id, {.status = ipybox::exit_status{0, {}}}));
    all = json_lines(file);
    CHECK(all.back()["record"] == "outcome");
    CHECK(all.back()["id"] == id);
}

TEST_CASE("gate: requests of sessions that share a log name their session") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    auto const log = audit_log::open({.file = file}).value();
    desk ada({.audit = log, .audit_session = "ada"});
    desk bob({.audit = log, .audit_session = "b\xff"});
    desk nameless({.audit = log});
    (void)ada.decide(some_call());
    (void)bob.decide(some_call());
    (void)nameless.decide(some_call());
    auto const settled = ada.gate->settle(some_call(), verdict{decision::accept(), error::decider::sandbox});
    CHECK(settled.accepted());
    std::vector<json> names;
    for (auto const& record : json_lines(file)) {
        if (record["record"] == "request")
            names.push_back(record.value("session", json()));
        else
            CHECK_FALSE(record.contains("session"));
    }
    CHECK(names == std::vector<json>{"ada", {{"base64", "Yv8="}}, nullptr, "ada"});
}

TEST_CASE("gate: what cannot be recorded is rejected, and grants nothing") {
    desk d({.audit = audit_log::open({.file = "/dev/full"}).value()});
    int asked = 0;
    any_approval const policy([&asked](approval_request const& r) {
        ++asked;
        r.accept_and_grant(grant::tool("*"));
    });
    auto const said = d.decide(some_call(), policy);
    CHECK(said.by == error::decider::audit);
    CHECK_FALSE(said.accepted());
    CHECK(contains(said.made.reason(), "No space left"));
    CHECK(asked == 0);
    CHECK_FALSE(d.gate->finished(1, {}));

    desk off({.approve_tool_calls = false, .audit = audit_log::open({.file = "/dev/full"}).value()});
    CHECK(off.decide(some_call()).by ==
          error::decider::audit); // an action that nobody was asked about is no less an action

    int told = 0;
    desk lenient(
        {.audit =
             audit_log::open({.file = "/dev/full", .on_failure = [&told](ipybox::error const&) { ++told; }}).value()});
    CHECK(lenient.decide(some_call(), policy).accepted());
    CHECK(told == 2);
}

TEST_CASE("gate: many at once, answered by several threads", "[tsan]") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.path() / "audit.jsonl";
    desk d({.approval_timeout = 1h, .audit = audit_log::open({.file = file}).value()});
    std::mutex mutex;
    std::vector<approval_request> waiting;
    any_approval const policy([&](approval_request request) {
        std::lock_guard const lock(mutex);
        waiting.push_back(std::move(request));
    });
    constexpr int requests = 120;
    for (int i = 0; i < requests; ++i) d.begin(some_call("t", {{"a", i}}), policy);
    std::vector<std::thread> answering;
    for (int t = 0; t < 3; ++t) {
        answering.emplace_back([&, t] {
            for (int answered = 0; answered < requests / 3;) {
                std::unique_lock lock(mutex);
                if (waiting.empty()) {
                    lock.unlock();
                    std::this_thread::yield();
                    continue;
                }
                auto const request = std::move(waiting.back());
                waiting.pop_back();
                lock.unlock();
                ++answered;
                if (t == 0) request.accept();
                if (t == 1) request.accept_and_grant(grant::exactly(*request.subject()));
                // the third one drops them
            }
        });
    }
    d.run();
    for (auto& thread : answering) thread.join();
    int accepted = 0;
    for (auto const& said : d.said) {
        REQUIRE(said);
        accepted += said->accepted() ? 1 : 0;
    }
    CHECK(accepted == requests / 3 * 2);
    CHECK(d.gate->waiting() == 0);
    CHECK(json_lines(file).size() == 2 * requests);
}

TEST_CASE("gate: the clock and other threads answer at the same time, and agree", "[tsan]") {
    for (int round = 0; round < 30; ++round) {
        desk d({.approval_timeout = 2ms});
        std::thread answering;
        std::optional<bool> first;
        auto const index = d.begin(some_call(), [&](approval_request request) {
            answering = std::thread([&first, request = std::move(request)] {
                std::this_thread::sleep_until(*request.deadline());
                first = request.accept();
            });
        });
        d.run();
        answering.join();
        REQUIRE(d.said[index]);
        REQUIRE(first);
        CHECK(d.said[index]->accepted() == *first); // who is told that it was first was first
        CHECK((d.said[index]->by == error::decider::policy) == *first);
    }
}

TEST_CASE("gate: a request that is cancelled while its long arguments are read is not asked about") {
    ipybox::test::scratch_dir const scratch;
    desk d({.audit = audit_log::open({.file = scratch.path() / "audit.jsonl"}).value()});
    int asked = 0;
    for (bool const at_once : {true, false}) {
        auto const now = [&](approval_request const&) {
            ++asked;
            return decision::accept();
        };
        auto const later = [&](approval_request) -> awaitable<decision> {
            ++asked;
            co_return decision::accept();
        };
        auto const policy = at_once ? any_approval(now) : any_approval(later);
        asio::cancellation_signal signal;
        std::promise<void> may_go_on;
        std::promise<void> begun;
        auto call = some_call();
        call.arguments = ipybox::detail::tool_arguments::built_by([&, wait = may_go_on.get_future().share()] {
            begun.set_value();
            wait.wait();
            return nlohmann::ordered_json{{"a", 1}};
        });
        auto const index = d.begin(std::move(call), policy, signal.slot());
        d.settle();
        begun.get_future().wait();
        signal.emit(asio::cancellation_type::terminal);
        may_go_on.set_value();
        d.run();
        REQUIRE(d.said[index]);
        CHECK(d.said[index]->by == error::decider::cancellation);
        CHECK_FALSE(d.said[index]->accepted());
    }
    CHECK(asked == 0);
}

TEST_CASE("gate: time budgets go on until what has to be shown first was shown") {
    desk d;
    keeper reader;
    asio::steady_timer shown(d.context, asio::steady_timer::time_point::max());
    auto const show = [&]() -> awaitable<void> {
        asio::error_code ended;
        co_await shown.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    };
    auto const ask = [&]() -> awaitable<void> {
        auto pending = d.gate->decide(some_call(), reader.policy(), show);
        (void)co_await std::move(pending);
    };
    asio::co_spawn(d.context, ask(), asio::detached);
    d.settle();
    CHECK(d.gate->waiting() == 0);
    CHECK(d.counts.empty());
    shown.cancel();
    d.settle();
    CHECK(d.gate->waiting() == 1);
    reader.kept.at(0).reject();
    d.run();
    CHECK(d.counts == std::vector<std::size_t>{1, 0});
}

TEST_CASE("gate: of a policy that blocks it is told afterwards how long that took") {
    std::vector<approval_gate::clock::time_point> told;
    approval_gate gate({}, [&](approval_gate::clock::time_point at) { told.push_back(at); });
    asio::io_context context;
    auto const policy = [](approval_request const&) {
        std::this_thread::sleep_for(20ms);
        return decision::accept();
    };
    auto const ask = [&]() -> awaitable<void> {
        auto pending = gate.decide(some_call(), any_approval(policy));
        auto const said = co_await std::move(pending);
        CHECK(said.accepted());
    };
    asio::co_spawn(context, ask(), asio::detached);
    context.run();
    REQUIRE(told.size() == 2);
    CHECK(told[1] - told[0] >= 20ms);
    CHECK(gate.waiting() == 0);
}

TEST_CASE("gate: what ends with the kernel, with a cell or with a server") {
    desk d;
    keeper reader;
    auto own = some_call("own", {{"a", 1}}, "");
    own.of_application = true;
    auto other = some_call("other", {{"a", 1}}, "c2");
    other.server = "t";
    auto const first = d.begin(some_call(), reader.policy());
    auto const second = d.begin(other, reader.policy());
    auto const third = d.begin(some_call("u", {{"a", 1}}, "c2"), reader.policy());
    auto const last = d.begin(own, reader.policy());
    d.settle();
    CHECK(d.gate->waiting() == 4);
    CHECK(d.gate->waiting("c2") == 2);
    CHECK(d.gate->waiting("") == 0); // the application's own belongs to no cell
    d.gate->cancel_cell("c1");
    d.settle();
    CHECK(d.said[first]);
    d.gate->cancel_cell("");
    d.gate->cancel_server("s");
    d.settle();
    CHECK(d.said[third]);
    CHECK_FALSE(d.said[second]);
    d.gate->cancel_code();
    d.settle();
    CHECK(d.said[second]);
    CHECK_FALSE(d.said[last]);
    reader.kept.back().accept();
    d.run();
    REQUIRE(d.said[last]);
    CHECK(d.said[last]->accepted());
}
