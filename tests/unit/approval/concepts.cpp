#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/approval_policy.hpp>
#include <ipybox/approval/auto_approval.hpp>
#include <ipybox/approval/callback_approval.hpp>
#include <ipybox/approval/deny_approval.hpp>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

//! [exemplar]
struct read_only {
    ipybox::decision decide(ipybox::approval_request const& request) const {
        if (request.kind() == ipybox::approval_subject::action::tool && request.tool().starts_with("read_"))
            return ipybox::decision::accept();
        return ipybox::decision::reject("only tools that read are allowed");
    }
};
static_assert(ipybox::approval_policy<read_only>);
//! [exemplar]

namespace {

using asio::awaitable;
using ipybox::approval_policy;
using ipybox::approval_request;
using ipybox::callback_approval;
using ipybox::decision;
using ipybox::detail::approval_callback;
using ipybox::detail::approval_for;

struct at_once {
    decision decide(approval_request const&) const { return decision::accept(); }
};
struct by_value {
    decision decide(approval_request) { return decision::accept(); }
};
struct by_rvalue {
    decision decide(approval_request&&) { return decision::accept(); }
};
struct later {
    awaitable<decision> decide(approval_request) { co_return decision::accept(); }
};
struct through_request {
    void decide(approval_request const& request) { request.accept(); }
};
struct move_only {
    std::unique_ptr<int> owned;
    decision decide(approval_request const&) { return decision::accept(); }
};
struct foreign {};
struct foreign_by_request {};

struct nothing {};
struct says_bool {
    bool decide(approval_request const&) { return true; }
};
struct says_text {
    std::string decide(approval_request const&) { return "yes"; }
};
struct says_awaitable_bool {
    awaitable<bool> decide(approval_request) { co_return true; }
};
struct changes_request {
    void decide(approval_request&) {}
};
struct other_argument {
    decision decide(std::string const&) { return decision::accept(); }
};
struct immovable {
    immovable(immovable&&) = delete;
    decision decide(approval_request const&) { return decision::accept(); }
};

} // namespace

template <>
struct ipybox::approval_traits<foreign> {
    static decision decide(foreign&, approval_request const&) { return decision::accept(); }
};
template <>
struct ipybox::approval_traits<foreign_by_request> {
    static void decide(foreign_by_request&, approval_request request) { request.accept(); }
};

static_assert(approval_policy<at_once> && approval_policy<by_value> && approval_policy<by_rvalue> &&
              approval_policy<later>);
static_assert(approval_policy<through_request> && approval_policy<move_only> && approval_policy<foreign> &&
              approval_policy<foreign_by_request>);
static_assert(!approval_policy<nothing> && !approval_policy<says_bool> && !approval_policy<says_text> &&
              !approval_policy<says_awaitable_bool>);
static_assert(!approval_policy<changes_request> && !approval_policy<other_argument> && !approval_policy<immovable> &&
              !approval_policy<int>);

static_assert(approval_callback<decision (*)(approval_request)>);
static_assert(approval_callback<decltype([](approval_request const& request) { request.accept(); })>);
static_assert(approval_callback<decltype([](auto&&) -> awaitable<decision> { co_return decision::accept(); })>);
static_assert(approval_callback<std::function<void(approval_request)>>);
static_assert(!approval_callback<decltype([](approval_request const& request) {
    return request.accept();
})>); // a bool is no answer
static_assert(!approval_callback<decltype([] {})>);
static_assert(!approval_callback<at_once>);

static_assert(approval_policy<callback_approval<decision (*)(approval_request)>>);
static_assert(std::is_same_v<decltype(callback_approval{std::declval<void (*)(approval_request)>()}),
                             callback_approval<void (*)(approval_request)>>);
static_assert(std::is_same_v<approval_for<at_once>, at_once>);
static_assert(std::is_same_v<approval_for<foreign>, foreign>);
static_assert(std::is_same_v<approval_for<void (*)(approval_request)>, callback_approval<void (*)(approval_request)>>);

static_assert(!std::is_default_constructible_v<decision>);
static_assert(!std::is_convertible_v<bool, decision> && !std::is_constructible_v<decision, bool> &&
              !std::is_convertible_v<char const*, decision>);
static_assert(std::is_nothrow_move_constructible_v<approval_request> && std::is_copy_constructible_v<approval_request>);
