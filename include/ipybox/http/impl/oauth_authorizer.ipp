#pragma once

#include <ipybox/async/emit_cancellation.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/http/impl/oauth_text.hpp>
#include <ipybox/http/oauth_authorizer.hpp>
#include <ipybox/version.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace ipybox::http {
namespace detail {

/// Bytes of a document, or of an answer with tokens.
inline constexpr std::size_t longest_oauth_answer = std::size_t(256) << 10;

/// How long another process may take for a renewal, and how often one looks.
inline constexpr std::chrono::seconds longest_claim{60};
inline constexpr std::chrono::milliseconds time_between_claims{50};

/// How long a sign-in that failed is not tried again.
inline constexpr std::chrono::minutes time_without_sign_in{1};

/// The redirect of a browser, or the answer of the user: the first one counts.
struct sign_in_race {
    explicit sign_in_race(asio::any_io_executor const& executor)
        : done(executor, asio::steady_timer::time_point::max()) {}

    void end(result<std::string> how) {
        if (!outcome) outcome = std::move(how);
        done.cancel();
    }

    std::optional<result<std::string>> outcome;
    asio::steady_timer done;
    asio::cancellation_signal stop_redirect;
    asio::cancellation_signal stop_user;
};

/// The query of an address that a user copied.
inline std::string query_of(std::string_view address) {
    auto const end = address.find('#');
    address = address.substr(0, end);
    auto const question = address.find('?');
    return std::string(question == std::string_view::npos ? address : address.substr(question + 1));
}

} // namespace detail

IPYBOX_DECL result<std::shared_ptr<oauth_authorizer>>
oauth_authorizer::make(asio::any_io_executor const& executor, std::string const& server, oauth_options options) {
    auto address = url::parse(server);
    if (!address) return failure(address);
    auto made =
        std::shared_ptr<oauth_authorizer>(new oauth_authorizer(executor, *std::move(address), std::move(options)));
    (void)made->load(); // a renewal says what is wrong with the store
    return made;
}

IPYBOX_DECL oauth_authorizer::oauth_authorizer(asio::any_io_executor const& executor, url server, oauth_options options)
    : executor_(executor), server_(std::move(server)), key_(server_.public_text()), options_(std::move(options)),
      ended_(executor, asio::steady_timer::time_point::max()) {}

// --- the tokens -----------------------------------------------------------------------------------------------------------

IPYBOX_DECL oauth_tokens const* oauth_authorizer::tokens() const {
    auto const at = std::ranges::find_if(grants_, [](oauth_grant const& each) { return each.tokens.has_value(); });
    return at == grants_.end() ? nullptr : &*at->tokens;
}

IPYBOX_DECL std::string oauth_authorizer::credentials() const {
    auto const* const current = tokens();
    bool const is_usable = current && detail::is_visible(current->access) &&
                           (!current->expires || std::chrono::system_clock::now() < *current->expires);
    return is_usable ? "Bearer " + current->access : std::string();
}

/// Whether the tokens are others than those that were refused, and may be enough.
IPYBOX_DECL bool oauth_authorizer::has_new(order const& wanted) const {
    auto const current = credentials();
    if (wanted.why == reason::sign_in || current.empty() || current == wanted.refused) return false;
    return wanted.challenge.error != "insufficient_scope" ||
           detail::has_scopes(tokens()->scope, wanted.challenge.scope);
}

IPYBOX_DECL result<void> oauth_authorizer::load() {
    if (!options_.store) return {};
    auto kept = options_.store->load(key_);
    if (!kept) return failure(kept);
    grants_ = *std::move(kept);
    return {};
}

IPYBOX_DECL result<void> oauth_authorizer::keep(oauth_grant const& grant) {
    put_first(grants_, grant);
    return options_.store ? options_.store->save(key_, grant) : result<void>();
}

IPYBOX_DECL std::optional<oauth_grant> oauth_authorizer::grant_of(std::string const& issuer) const {
    auto const at = std::ranges::find(grants_, issuer, &oauth_grant::issuer);
    return at == grants_.end() ? std::nullopt : std::optional<oauth_grant>(*at);
}

IPYBOX_DECL result<void> oauth_authorizer::forget() {
    grants_.clear();
    return options_.store ? options_.store->remove(key_) : result<void>();
}

// --- renewals, one at a time ----------------------------------------------------------------------------------------------

IPYBOX_DECL asio::awaitable<result<void>> oauth_authorizer::renew(response_head const& refusal, std::string refused) {
    auto const wanted = std::make_shared<order>();
    wanted->challenge = bearer_challenge_of(refusal.headers);
    wanted->refused = std::move(refused);
    return do_order(wanted);
}

IPYBOX_DECL asio::awaitable<result<void>> oauth_authorizer::sign_in(bearer_challenge challenge) {
    auto const wanted = std::make_shared<order>();
    wanted->challenge = std::move(challenge);
    wanted->why = reason::sign_in;
    return do_order(wanted);
}

/// Waits for the end of a renewal.
IPYBOX_DECL asio::awaitable<void> oauth_authorizer::next_end() {
    asio::error_code woken;
    co_await ended_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

IPYBOX_DECL asio::awaitable<result<void>> oauth_authorizer::do_order(std::shared_ptr<order const> wanted) {
    auto const self = shared_from_this();
    bool has_waited = false;
    while (is_renewing_) {
        has_waited = true;
        co_await next_end();
    }
    if (has_new(*wanted)) co_return result<void>();
    bool const is_other = wanted->why == reason::sign_in || wanted->challenge.error == "insufficient_scope";
    if (has_waited && last_error_ && !is_other) co_return failure(*last_error_);
    is_renewing_ = true;
    last_error_.reset();
    auto const on_end = [self](std::exception_ptr thrown) {
        if (thrown) self->last_error_ = error(errc::io_error, "cannot be signed in to: an exception was thrown");
        self->is_renewing_ = false;
        self->ended_.cancel();
    };
    // It goes on when the one who asked for it is cancelled: others may wait for it.
    ipybox::detail::spawn(executor_, run(self, wanted), on_end);
    while (is_renewing_) co_await next_end();
    if (last_error_) co_return failure(*last_error_);
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<void> oauth_authorizer::run(self_ptr self, std::shared_ptr<order const> wanted) {
    auto done = co_await self->get_tokens(wanted);
    if (!done) self->last_error_ = std::move(done).error();
}

/// The failure that a renewal would end with, without a request.
IPYBOX_DECL std::optional<error> oauth_authorizer::known_failure(order const& wanted) const {
    bool const is_of_user = options_.settings.grant == oauth_settings::grant_type::authorization_code;
    bool const wants_more = wanted.challenge.error == "insufficient_scope";
    if (wants_more && has_asked_ && detail::has_scopes(asked_, wanted.challenge.scope))
        return error(errc::mcp_unauthorized, "refuses access for want of a scope, although `" +
                                                 detail::shown(wanted.challenge.scope) + "` was asked for");
    bool const can_refresh = std::ranges::any_of(
        grants_, [](oauth_grant const& each) { return each.tokens && !each.tokens->refresh.empty(); });
    if (is_of_user && !options_.sign_in && (wants_more || !can_refresh)) return sign_in_needed(options_.settings);
    return std::nullopt;
}

IPYBOX_DECL asio::awaitable<result<void>> oauth_authorizer::get_tokens(std::shared_ptr<order const> wanted) {
    bool const is_forced = wanted->why == reason::sign_in;
    bool const is_of_user = options_.settings.grant == oauth_settings::grant_type::authorization_code;
    if (is_forced && is_of_user && !options_.sign_in)
        co_return failure(errc::invalid_argument, "cannot be signed in to: `sign_in` of the options is empty");
    auto claimed = co_await claim();
    if (!claimed) co_return failure(claimed);
    auto loaded = load();
    if (!loaded) co_return loaded;
    if (has_new(*wanted)) co_return result<void>();
    if (!is_forced)
        if (auto why = known_failure(*wanted)) co_return failure(*std::move(why));

    oauth_machine::cause why;
    why.challenge = wanted->challenge;
    why.scope = asked_;
    bool const wants_more = why.challenge.error == "insufficient_scope";
    if (auto const* const current = tokens(); current && wants_more) why.scope += " " + current->scope;
    auto const now = std::chrono::steady_clock::now();
    bool const is_late = refused_sign_in_ && now - *refused_sign_in_ < detail::time_without_sign_in;
    bool const may_ask = options_.sign_in && (is_forced || !is_late);
    auto const how = may_ask ? oauth_machine::mode::interactive : oauth_machine::mode::unattended;
    auto const machine = std::make_shared<oauth_machine>(options_.settings, server_, how);
    auto done = co_await work(machine, wanted, why, *claimed);
    if (done) {
        asked_ = machine->scope();
        has_asked_ = true;
        co_return keep(machine->grant());
    }
    // A refresh token that was refused is not used again.
    auto const before = grant_of(machine->issuer());
    if (!is_forced && before && before->tokens && !machine->grant().tokens) (void)keep(machine->grant());
    co_return done;
}

/// Waits until no other process renews the tokens.
IPYBOX_DECL asio::awaitable<result<std::shared_ptr<void>>> oauth_authorizer::claim() {
    if (!options_.store) co_return std::shared_ptr<void>();
    auto const bound = std::chrono::steady_clock::now() + detail::longest_claim;
    for (;;) {
        auto claimed = options_.store->try_lock(key_);
        if (!claimed) co_return failure(claimed);
        if (*claimed) co_return *std::move(claimed);
        if (std::chrono::steady_clock::now() >= bound)
            co_return failure(errc::timed_out, "cannot be signed in to: another process renews its tokens, and does "
                                               "not end");
        asio::steady_timer pause(executor_, detail::time_between_claims);
        asio::error_code ended;
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    }
}

/// Does as the machine says.
IPYBOX_DECL asio::awaitable<result<void>> oauth_authorizer::work(std::shared_ptr<oauth_machine> machine,
                                                                 std::shared_ptr<order const> wanted,
                                                                 oauth_machine::cause why,
                                                                 std::shared_ptr<void>& claimed) {
    using action = oauth_machine::action;
    std::shared_ptr<loopback_redirect> redirect;
    auto step = machine->begin(std::move(why));
    while (step && *step != action::done) {
        if (*step == action::send) {
            auto request = machine->to_send();
            auto got = co_await send(std::move(request));
            if (!got) co_return failure(got);
            step = machine->take_answer(got->status, got->body, std::chrono::system_clock::now());
        } else if (*step == action::look_up) {
            auto kept = grant_of(machine->issuer());
            if (kept && wanted->why == reason::sign_in) kept->tokens.reset(); // another user may sign in
            step = machine->take_grant(std::move(kept), std::chrono::system_clock::now());
        } else if (*step == action::open_redirect) {
            auto opened = open_redirect(*machine);
            if (!opened) co_return failure(opened);
            redirect = std::make_shared<loopback_redirect>(*std::move(opened));
            step = machine->take_redirect_uri(redirect->address());
        } else {
            auto grant = machine->grant(); // with a client that was registered
            auto const before = grant_of(grant.issuer);
            if (before && wanted->why == reason::sign_in) grant.tokens = before->tokens;
            auto kept = keep(grant);
            if (!kept) co_return kept;
            claimed.reset(); // a person takes longer than other processes wait
            auto address = machine->sign_in_address();
            auto state = machine->state();
            auto query = co_await ask_user(redirect, std::move(address), std::move(state));
            step = query ? machine->take_redirect(*query) : result<action>(failure(query));
            if (!step) refused_sign_in_ = std::chrono::steady_clock::now();
        }
    }
    if (!step) co_return failure(step);
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<result<oauth_authorizer::answer>> oauth_authorizer::send(request wanted) {
    auto const address = url::parse(wanted.url);
    auto const place = address ? address->public_text() : std::string();
    auto const failed = [&place](error const& why) {
        auto const code = why == errc::timed_out ? errc::timed_out : errc::mcp_unreachable;
        return failure(code, "cannot be signed in to: " + place + " " + why.text());
    };
    wanted.timeout = options_.request_timeout;
    wanted.authorities = options_.authorities;
    wanted.headers.set("User-Agent", "ipybox/" IPYBOX_VERSION_STRING);
    if (!client_) client_ = client::shared();
    auto const sent = client_->begin(std::move(wanted));
    auto head = co_await sent->head();
    if (!head) co_return failed(head.error());
    auto body = co_await sent->read_all(detail::longest_oauth_answer);
    if (!body) co_return failed(body.error());
    answer made;
    made.status = head->status;
    made.body = *std::move(body);
    co_return made;
}

/// At the port that the client is registered with, if it is free: not all servers leave the port out of account.
IPYBOX_DECL result<loopback_redirect> oauth_authorizer::open_redirect(oauth_machine const& machine) const {
    auto const port = options_.settings.redirect_port;
    if (port != 0) return loopback_redirect::open(executor_, port);
    if (auto const known = url::parse(machine.wanted_redirect()); known && known->host() == "127.0.0.1") {
        auto const number = static_cast<std::uint16_t>(std::strtoul(known->port().c_str(), nullptr, 10));
        auto opened = loopback_redirect::open(executor_, number);
        if (opened) return opened;
    }
    return loopback_redirect::open(executor_);
}

IPYBOX_DECL asio::awaitable<result<std::string>> oauth_authorizer::ask_user(std::shared_ptr<loopback_redirect> redirect,
                                                                            std::string address, std::string state) {
    auto const race = std::make_shared<detail::sign_in_race>(executor_);
    auto const on_redirect = [race, redirect](std::exception_ptr thrown, result<std::string> how) {
        if (thrown) how = failure(errc::cancelled, "was not signed in to: the sign-in was cancelled");
        race->end(std::move(how));
    };
    auto const ask = std::make_shared<oauth_options::sign_in_function>(options_.sign_in);
    auto const on_user = [race, ask](std::exception_ptr thrown, result<std::string> how) {
        if (thrown) how = failure(errc::mcp_unauthorized, "was not signed in to: the page could not be shown");
        if (!how) return race->end(std::move(how));
        if (!how->empty()) race->end(detail::query_of(*how));
    };
    ipybox::detail::spawn(executor_, redirect->wait(std::move(state), options_.sign_in_timeout), on_redirect,
                          race->stop_redirect.slot());
    ipybox::detail::spawn(executor_, (*ask)(std::move(address)), on_user, race->stop_user.slot());
    asio::error_code woken;
    while (!race->outcome) co_await race->done.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    auto how = *std::move(race->outcome);
    ipybox::detail::emit_cancellation(race->stop_redirect);
    ipybox::detail::emit_cancellation(race->stop_user);
    co_return how;
}

} // namespace ipybox::http
