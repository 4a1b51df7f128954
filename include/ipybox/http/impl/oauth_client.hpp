#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/http/form.hpp>
#include <ipybox/http/impl/json_members.hpp>
#include <ipybox/http/impl/oauth_text.hpp>

#include <nlohmann/json.hpp>

#include <utility>

/** \file
 * The part of the machine that is about the client: its identity, and its sign-in. Included at the end of
 * `oauth_machine.ipp`.
 */

namespace ipybox::http {

/// MCP 2025-11-25, "Client Registration Approaches", in its order.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::choose_client() {
    if (!settings_.client_id.empty()) {
        grant_.client->redirect_uri = redirect_uri_;
        return ask_user();
    }
    auto const document = url::parse(settings_.client_metadata_url);
    bool const has_document = document && document->scheme() == "https";
    if (about_.takes_client_metadata_url && has_document) {
        oauth_client client;
        client.id = settings_.client_metadata_url;
        client.authentication = client_authentication::none;
        client.redirect_uri = redirect_uri_;
        grant_.client = std::move(client);
        return ask_user();
    }
    bool const is_known = grant_.client && grant_.client->is_registered && grant_.client->redirect_uri == redirect_uri_;
    if (is_known) return ask_user();
    if (!about_.registration_endpoint.empty()) return register_client();
    return failure(errc::mcp_unauthorized,
                   "cannot be signed in to: its authorization server registers no clients by itself; register ipybox "
                   "with " +
                       detail::public_text_of(grant_.issuer) + " and give the client id in the server's entry");
}

/// RFC 7591 section 3.1.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::register_client() {
    auto usable = check_address(about_.registration_endpoint, "the registration of clients");
    if (!usable) return failure(usable);
    grant_.client.reset();
    nlohmann::json wanted = {{"client_name", settings_.client_name}, {"application_type", "native"}};
    wanted["redirect_uris"] = nlohmann::json::array({redirect_uri_});
    wanted["grant_types"] = nlohmann::json::array({"authorization_code", "refresh_token"});
    wanted["response_types"] = nlohmann::json::array({"code"});
    auto way = client_authentication::none;
    if (auto const& ways = about_.token_authentication) {
        for (auto const each : {client_authentication::client_secret_post, client_authentication::client_secret_basic,
                                client_authentication::none})
            if (std::ranges::find(*ways, to_string(each)) != ways->end()) way = each;
    }
    wanted["token_endpoint_auth_method"] = std::string(to_string(way));
    if (!scope_.empty()) wanted["scope"] = scope_;
    to_send_ = request();
    to_send_.method = "POST";
    to_send_.url = about_.registration_endpoint;
    to_send_.headers.set("Accept", "application/json");
    to_send_.headers.set("Content-Type", "application/json");
    to_send_.body = std::make_shared<std::string const>(json_text(wanted));
    stage_ = stage::registration;
    return action::send;
}

IPYBOX_DECL result<oauth_machine::action> oauth_machine::take_registration(int status, std::string_view body) {
    if (status != 200 && status != 201)
        return failure(errc::mcp_unauthorized,
                       "cannot be signed in to: its authorization server did not register "
                       "ipybox (" +
                           std::to_string(status) + ")" + said_in(body) +
                           "; register it by hand and give the client id in the server's entry");
    auto const whole = read_json(body).value_or(nullptr);
    oauth_client client;
    if (whole.is_object()) client.id = detail::text_in(whole, "client_id");
    if (client.id.empty())
        return failure(detail::broken("has an authorization server that registered ipybox without a client id"));
    client.secret = detail::text_in(whole, "client_secret");
    auto const expires = whole.find("client_secret_expires_at"); // 0: never
    if (expires != whole.end() && expires->is_number() && expires->get<double>() > 0) {
        constexpr double latest = 8e9; // in the year 2223
        auto const seconds = static_cast<std::int64_t>(std::min(expires->get<double>(), latest));
        client.secret_expires = time_point(std::chrono::seconds(seconds));
    }
    auto const way = detail::text_in(whole, "token_endpoint_auth_method");
    client.authentication = client_authentication_of(way);
    if (!way.empty() && !client.authentication)
        return failure(errc::mcp_unauthorized,
                       "cannot be signed in to: its authorization server wants a client authentication that ipybox "
                       "does not have: " +
                           detail::shown(way));
    client.redirect_uri = redirect_uri_;
    client.is_registered = true;
    grant_.client = std::move(client);
    return ask_user();
}

/// RFC 6749 section 4.1.1, RFC 7636 section 4.3, RFC 8707 section 2.1.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::ask_user() {
    state_ = detail::secret_text();
    verifier_ = detail::secret_text();
    fields query{{"response_type", "code"},
                 {"client_id", grant_.client->id},
                 {"redirect_uri", redirect_uri_},
                 {"state", state_},
                 {"code_challenge", detail::code_challenge_of(verifier_)},
                 {"code_challenge_method", "S256"},
                 {"resource", resource_}};
    if (!scope_.empty()) query.add("scope", scope_);
    // OpenID Connect Core 1.0 section 11: without it the scope is ignored.
    if (detail::has_scopes(scope_, "offline_access")) query.add("prompt", "consent");
    auto const page = url::parse(about_.authorization_endpoint).value().text();
    auto const* const sign = page.find('?') == std::string::npos ? "?" : "&";
    sign_in_address_ = page + sign + write_form(query);
    stage_ = stage::sign_in;
    return action::sign_in;
}

/// RFC 6749 sections 4.1.2 and 10.12, RFC 9207 section 2.4.
IPYBOX_DECL result<oauth_machine::action> oauth_machine::take_redirect(std::string_view query) {
    auto const found = parse_form(query);
    for (auto const* const name : {"state", "iss", "code", "error"})
        if (found.find_all(name).size() > 1)
            return failure(errc::protocol_error,
                           std::string("was not signed in to: the redirect has more than one `") + name + "`");
    if (found.find("state") != state_)
        return failure(errc::protocol_error, "was not signed in to: the redirect belongs to another sign-in");
    auto const iss = found.find("iss");
    bool const has_iss = !found.find_all("iss").empty();
    if (has_iss ? iss != grant_.issuer : about_.has_issuer_in_redirect)
        return failure(errc::protocol_error, "was not signed in to: the redirect does not come from " +
                                                 detail::public_text_of(grant_.issuer));
    if (auto const code = found.find("error"); !code.empty())
        return failure(errc::mcp_unauthorized, "was not signed in to: the authorization server answered" +
                                                   quoted(code, found.find("error_description")));
    code_ = found.find("code");
    if (code_.empty()) return failure(errc::protocol_error, "was not signed in to: the redirect has no code");
    stage_ = stage::token;
    return ask_token(fields{{"grant_type", "authorization_code"},
                            {"code", code_},
                            {"redirect_uri", redirect_uri_},
                            {"code_verifier", verifier_}});
}

/// The way of the registration, else one that both sides have; RFC 8414 section 2: basic where nothing is said.
IPYBOX_DECL client_authentication oauth_machine::authentication() const {
    auto const& client = *grant_.client;
    if (client.secret.empty()) return client_authentication::none;
    if (client.authentication) return *client.authentication;
    if (!about_.token_authentication) return client_authentication::client_secret_basic;
    auto const& ways = *about_.token_authentication;
    auto const has = [&ways](client_authentication how) {
        return std::ranges::find(ways, to_string(how)) != ways.end();
    };
    bool const is_post =
        !has(client_authentication::client_secret_basic) && has(client_authentication::client_secret_post);
    return is_post ? client_authentication::client_secret_post : client_authentication::client_secret_basic;
}

/// The error in an answer, RFC 6749 section 5.2, unless it repeats a secret.
IPYBOX_DECL std::string oauth_machine::said_in(std::string_view body) const {
    auto const whole = read_json(body).value_or(nullptr);
    if (!whole.is_object()) return {};
    return quoted(detail::text_in(whole, "error"), detail::text_in(whole, "error_description"));
}

IPYBOX_DECL std::string oauth_machine::quoted(std::string_view code, std::string_view description) const {
    std::vector<std::string> secrets{settings_.client_secret, verifier_, code_, state_};
    if (grant_.client) secrets.push_back(grant_.client->secret);
    if (grant_.tokens) secrets.push_back(grant_.tokens->refresh);
    if (grant_.tokens) secrets.push_back(grant_.tokens->access);
    auto const is_clean = [&secrets](std::string_view text) {
        return std::ranges::none_of(secrets, [text](std::string const& each) {
            return !each.empty() && text.find(each) != std::string_view::npos;
        });
    };
    std::string text;
    if (!code.empty() && is_clean(code)) text = " " + detail::shown(code, 60);
    if (!description.empty() && is_clean(description)) text += ": " + detail::shown(description);
    return text;
}

} // namespace ipybox::http
