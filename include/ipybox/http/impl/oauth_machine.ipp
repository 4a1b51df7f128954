#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/http/form.hpp>
#include <ipybox/http/impl/json_members.hpp>
#include <ipybox/http/impl/oauth_text.hpp>
#include <ipybox/http/oauth_machine.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace ipybox::http {
namespace detail {

/// A number of seconds from now, which some servers write as a text.
inline std::optional<oauth_machine::time_point> expiry_in(nlohmann::json const& object, char const* name,
                                                          oauth_machine::time_point now) {
    constexpr double longest = 1e9; // 31 years
    auto const found = object.find(name);
    double seconds = -1;
    if (found != object.end() && found->is_number()) seconds = found->get<double>();
    if (found != object.end() && found->is_string()) {
        auto const& text = found->get_ref<std::string const&>();
        std::int64_t whole = -1;
        (void)std::from_chars(text.data(), text.data() + text.size(), whole);
        seconds = static_cast<double>(whole);
    }
    if (!(seconds >= 0)) return std::nullopt;
    return now + std::chrono::seconds(static_cast<std::int64_t>(std::min(seconds, longest)));
}

} // namespace detail

IPYBOX_DECL error sign_in_needed(oauth_settings const& settings) {
    auto const name = settings.name.empty() ? std::string() : " to " + settings.name;
    return {errc::mcp_unauthorized, "wants a sign-in" + name + ", and the application gives no way to do that"};
}

IPYBOX_DECL oauth_machine::oauth_machine(oauth_settings settings, url server, mode how)
    : settings_(std::move(settings)), server_(std::move(server)), mode_(how) {}

IPYBOX_DECL result<oauth_machine::action> oauth_machine::begin(cause why) {
    cause_ = std::move(why);
    if (auto usable = check_address(server_.text(), "it"); !usable) return failure(usable);
    addresses_ = resource_metadata_addresses(server_);
    if (auto const& named = cause_.challenge.resource_metadata; !named.empty()) {
        if (auto usable = check_address(named, "its metadata"); !usable) return failure(usable);
        addresses_ = {named};
    }
    return get(addresses_[tried_++]);
}

/// RFC 9700 section 2.6: tokens and codes go over TLS. Addresses of this machine are for servers of this machine: no
/// other one may have requests sent there.
IPYBOX_DECL result<void> oauth_machine::check_address(std::string_view address, std::string_view what) const {
    auto const parsed = url::parse(address);
    if (!parsed) return failure(errc::protocol_error, "names an address that cannot be used for " + std::string(what));
    bool const is_near = parsed->is_loopback();
    bool const is_safe =
        parsed->scheme() == "https" ? !is_near || server_.is_loopback() : is_near && server_.is_loopback();
    if (is_safe) return {};
    auto const why = is_near ? " is an address of this machine, which is used for servers of this machine alone: "
                             : " has to be reached over https: ";
    return failure(errc::mcp_unauthorized,
                   "cannot be signed in to, since " + std::string(what) + why + parsed->public_text());
}

IPYBOX_DECL oauth_machine::action oauth_machine::get(std::string address) {
    to_send_ = request();
    to_send_.url = std::move(address);
    to_send_.headers.set("Accept", "application/json");
    return action::send;
}

/// The next place of a document that is not at the last one.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::next_address(int status) {
    constexpr int first_of_server_errors = 500;
    if (status >= first_of_server_errors)
        return failure(errc::mcp_refused, "cannot be signed in to: " + detail::public_text_of(to_send_.url) +
                                              " answered with the status " + std::to_string(status) + " of HTTP");
    if (tried_ < addresses_.size()) return get(addresses_[tried_++]);
    if (stage_ == stage::server)
        return failure(errc::mcp_unauthorized, "cannot be signed in to: its authorization server " +
                                                   detail::public_text_of(grant_.issuer) + " has no metadata");
    if (!cause_.challenge.resource_metadata.empty())
        return failure(detail::broken("names metadata that are not there: " + detail::public_text_of(to_send_.url)));
    // A server of 2025-03-26 is its own authorization server, without a document about itself.
    resource_ = server_.public_text();
    return find_server(server_.origin());
}

IPYBOX_DECL result<oauth_machine::action> oauth_machine::take_answer(int status, std::string_view body,
                                                                     time_point now) {
    switch (stage_) {
    case stage::resource: return take_resource(status, body);
    case stage::server: return take_server(status, body);
    case stage::registration: return take_registration(status, body);
    default: return take_token(status, body, now);
    }
}

/// RFC 9728 section 3.3: a document about another resource is not used.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::take_resource(int status, std::string_view body) {
    auto const found = status == 200 ? read_resource_metadata(body) : std::nullopt;
    if (!found) return next_address(status == 200 ? 404 : status);
    if (!covers(found->resource, server_))
        return failure(detail::broken("has metadata of another resource: " + detail::public_text_of(found->resource)));
    resource_ = found->resource;
    resource_scopes_ = found->scopes;
    if (found->authorization_servers.empty()) return failure(detail::broken("names no authorization server"));
    return find_server(found->authorization_servers.front());
}

IPYBOX_DECL result<oauth_machine::action> oauth_machine::find_server(std::string issuer) {
    if (auto usable = check_address(issuer, "its authorization server"); !usable) return failure(usable);
    bool const is_plain = issuer.find_first_of("?#") == std::string::npos; // RFC 8414 section 2
    if (!is_plain) return failure(detail::broken("names an authorization server whose address has a query"));
    addresses_ = authorization_server_addresses(url::parse(issuer).value());
    grant_.issuer = std::move(issuer);
    tried_ = 0;
    stage_ = stage::server;
    return get(addresses_[tried_++]);
}

/// RFC 8414 section 3.3: the issuer is compared as text.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::take_server(int status, std::string_view body) {
    auto found = status == 200 ? read_authorization_server(body) : std::nullopt;
    if (!found) return next_address(status == 200 ? 404 : status);
    if (found->issuer != grant_.issuer)
        return failure(detail::broken("has an authorization server that says that it is another one: " +
                                      detail::public_text_of(grant_.issuer) + " says " + detail::shown(found->issuer)));
    about_ = *std::move(found);
    auto usable = check_address(about_.token_endpoint, "the token endpoint");
    if (!usable) return failure(usable);
    stage_ = stage::look_up;
    return action::look_up;
}

/// MCP 2025-11-25, "Scope Selection Strategy": those of the challenge, else those that the server names, else none.
IPYBOX_DECL void oauth_machine::choose_scope() {
    std::vector<std::string> wanted;
    for (auto const& each : settings_.scopes) detail::add_scopes(wanted, each);
    detail::add_scopes(wanted, cause_.challenge.scope);
    if (wanted.empty())
        for (auto const& each : resource_scopes_) detail::add_scopes(wanted, each);
    detail::add_scopes(wanted, cause_.scope);
    bool const has_offline = std::ranges::find(about_.scopes, "offline_access") != about_.scopes.end();
    bool const is_of_user = settings_.grant == oauth_settings::grant_type::authorization_code;
    if (has_offline && is_of_user && !wanted.empty()) detail::add_scopes(wanted, "offline_access");
    scope_ = detail::joined(wanted);
}

IPYBOX_DECL result<oauth_machine::action> oauth_machine::take_grant(std::optional<oauth_grant> kept, time_point now) {
    if (kept && kept->issuer == grant_.issuer) grant_ = *std::move(kept);
    choose_scope();
    if (!settings_.client_id.empty()) {
        oauth_client configured;
        configured.id = settings_.client_id;
        configured.secret = settings_.client_secret;
        if (!grant_.client || grant_.client->id != configured.id) grant_.tokens.reset();
        grant_.client = configured;
    } else if (grant_.client && grant_.client->secret_expires && *grant_.client->secret_expires <= now) {
        grant_.client.reset();
    }
    if (settings_.grant == oauth_settings::grant_type::client_credentials) {
        if (settings_.client_id.empty() || settings_.client_secret.empty())
            return failure(errc::mcp_unauthorized,
                           "wants credentials of this program: give its entry a client id and a client secret");
        fields parameters{{"grant_type", "client_credentials"}};
        if (!scope_.empty()) parameters.add("scope", scope_);
        stage_ = stage::token;
        return ask_token(std::move(parameters));
    }
    bool const wants_more = cause_.challenge.error == "insufficient_scope";
    bool const can_refresh = grant_.client && grant_.tokens && !grant_.tokens->refresh.empty();
    return can_refresh && !wants_more ? refresh() : begin_sign_in();
}

/// RFC 6749 section 6, and RFC 8707 section 2.2.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::refresh() {
    stage_ = stage::refresh;
    return ask_token(fields{{"grant_type", "refresh_token"}, {"refresh_token", grant_.tokens->refresh}});
}

IPYBOX_DECL result<oauth_machine::action> oauth_machine::begin_sign_in() {
    if (mode_ == mode::unattended) return failure(sign_in_needed(settings_));
    if (!about_.has_s256)
        return failure(errc::mcp_unauthorized, "cannot be signed in to: its authorization server does not say that it "
                                               "supports PKCE with S256, without which a sign-in can be stolen");
    auto usable = check_address(about_.authorization_endpoint, "the page of the sign-in");
    if (!usable) return failure(usable);
    stage_ = stage::redirect;
    return action::open_redirect;
}

IPYBOX_DECL std::string oauth_machine::wanted_redirect() const {
    return grant_.client ? grant_.client->redirect_uri : std::string();
}

IPYBOX_DECL result<oauth_machine::action> oauth_machine::take_redirect_uri(std::string address) {
    redirect_uri_ = std::move(address);
    return choose_client();
}

/// RFC 6749 section 3.2, with the parameters that name the client: section 2.3.1.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::ask_token(fields parameters) {
    auto const& client = *grant_.client;
    parameters.add("resource", resource_);
    to_send_ = request();
    to_send_.method = "POST";
    to_send_.url = about_.token_endpoint;
    to_send_.headers.set("Accept", "application/json");
    to_send_.headers.set("Content-Type", "application/x-www-form-urlencoded");
    auto const how = authentication();
    if (how == client_authentication::client_secret_basic) {
        auto const pair = percent_encoded(client.id) + ":" + percent_encoded(client.secret);
        to_send_.headers.set("Authorization", "Basic " + base64_encode(pair));
    } else {
        parameters.add("client_id", client.id);
        if (how == client_authentication::client_secret_post) parameters.add("client_secret", client.secret);
    }
    to_send_.body = std::make_shared<std::string const>(write_form(parameters));
    return action::send;
}

/// RFC 6749 sections 5.1 and 5.2.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::take_token(int status, std::string_view body, time_point now) {
    bool const was_refresh = stage_ == stage::refresh;
    constexpr int first_of_server_errors = 500;
    constexpr int too_many = 429;
    if (status != 200) {
        bool const is_refused = status >= 400 && status < first_of_server_errors && status != too_many;
        auto const why = said_in(body);
        if (was_refresh && is_refused) {
            grant_.tokens.reset();
            if (grant_.client->is_registered && body.find("invalid_client") != std::string_view::npos)
                grant_.client.reset();
            return begin_sign_in();
        }
        auto const code = is_refused ? errc::mcp_unauthorized : errc::mcp_refused;
        return failure(code, "gets no token from its authorization server (" + std::to_string(status) + ")" + why);
    }
    auto const whole = read_json(body).value_or(nullptr);
    oauth_tokens tokens;
    std::string kind;
    if (whole.is_object()) {
        tokens.access = detail::text_in(whole, "access_token");
        tokens.refresh = detail::text_in(whole, "refresh_token");
        tokens.scope = detail::text_in(whole, "scope");
        kind = detail::text_in(whole, "token_type");
    }
    if (!detail::is_visible(tokens.access))
        return failure(detail::broken("has an authorization server that answered without a token"));
    if (!same_name(kind, "bearer"))
        return failure(detail::broken("has an authorization server that gives other tokens than bearer tokens"));
    tokens.expires = detail::expiry_in(whole, "expires_in", now);
    if (tokens.refresh.empty() && was_refresh) tokens.refresh = grant_.tokens->refresh;
    if (tokens.scope.empty()) tokens.scope = was_refresh ? grant_.tokens->scope : scope_;
    grant_.tokens = std::move(tokens);
    return action::done;
}

} // namespace ipybox::http

#include <ipybox/http/impl/oauth_client.hpp>
