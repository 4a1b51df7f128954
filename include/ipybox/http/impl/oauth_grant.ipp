#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/http/oauth_grant.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <utility>

namespace ipybox::http {
namespace detail {

using wall_time = std::chrono::system_clock::time_point;

inline std::int64_t seconds_of(wall_time when) {
    return std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count();
}

inline nlohmann::json json_of(oauth_client const& client) {
    nlohmann::json made = {{"client_id", client.id}};
    if (!client.secret.empty()) made["client_secret"] = client.secret;
    if (client.secret_expires) made["client_secret_expires_at"] = seconds_of(*client.secret_expires);
    if (client.authentication) made["token_endpoint_auth_method"] = std::string(to_string(*client.authentication));
    if (!client.redirect_uri.empty()) made["redirect_uri"] = client.redirect_uri;
    if (client.is_registered) made["registered"] = true;
    return made;
}

inline nlohmann::json json_of(oauth_tokens const& tokens) {
    nlohmann::json made = {{"access_token", tokens.access}};
    if (!tokens.refresh.empty()) made["refresh_token"] = tokens.refresh;
    if (!tokens.scope.empty()) made["scope"] = tokens.scope;
    if (tokens.expires) made["expires_at"] = seconds_of(*tokens.expires);
    return made;
}

/// Takes members of an object; remembers that one of them was wrong.
class grant_reader {
  public:
    std::string text(nlohmann::json const& object, char const* name, bool is_needed = false) {
        auto const found = object.find(name);
        bool const is_there = found != object.end();
        if (is_there ? !found->is_string() : is_needed) is_wrong = true;
        auto value = is_there && found->is_string() ? found->get<std::string>() : std::string();
        if (is_needed && value.empty()) is_wrong = true;
        return value;
    }

    std::optional<wall_time> time(nlohmann::json const& object, char const* name) {
        auto const found = object.find(name);
        if (found == object.end()) return std::nullopt;
        constexpr std::int64_t latest = std::int64_t(1) << 33; // in the year 2242
        bool const is_time =
            found->is_number_integer() && found->get<std::int64_t>() >= 0 && found->get<std::int64_t>() <= latest;
        if (!is_time) is_wrong = true;
        if (!is_time) return std::nullopt;
        return wall_time(std::chrono::seconds(found->get<std::int64_t>()));
    }

    oauth_client client(nlohmann::json const& object) {
        oauth_client made;
        made.id = text(object, "client_id", true);
        made.secret = text(object, "client_secret");
        made.secret_expires = time(object, "client_secret_expires_at");
        auto const way = text(object, "token_endpoint_auth_method");
        if (!way.empty()) {
            made.authentication = client_authentication_of(way);
            if (!made.authentication) is_wrong = true;
        }
        made.redirect_uri = text(object, "redirect_uri");
        made.is_registered = object.contains("registered");
        return made;
    }

    oauth_tokens tokens(nlohmann::json const& object) {
        oauth_tokens made;
        made.access = text(object, "access_token", true);
        made.refresh = text(object, "refresh_token");
        made.scope = text(object, "scope");
        made.expires = time(object, "expires_at");
        return made;
    }

    oauth_grant grant(nlohmann::json const& object) {
        oauth_grant made;
        if (!object.is_object()) {
            is_wrong = true;
            return made;
        }
        made.issuer = text(object, "issuer", true);
        auto const part = [&](char const* name) -> nlohmann::json const* {
            auto const found = object.find(name);
            if (found == object.end()) return nullptr;
            if (!found->is_object()) is_wrong = true;
            return found->is_object() ? &*found : nullptr;
        };
        if (auto const* const found = part("client")) made.client = client(*found);
        if (auto const* const found = part("tokens")) made.tokens = tokens(*found);
        return made;
    }

    bool is_wrong = false;
};

} // namespace detail

IPYBOX_DECL std::string_view to_string(client_authentication how) noexcept {
    switch (how) {
    case client_authentication::none: return "none";
    case client_authentication::client_secret_post: return "client_secret_post";
    case client_authentication::client_secret_basic: return "client_secret_basic";
    }
    return "unknown";
}

IPYBOX_DECL std::optional<client_authentication> client_authentication_of(std::string_view name) noexcept {
    for (auto const each : {client_authentication::none, client_authentication::client_secret_post,
                            client_authentication::client_secret_basic})
        if (to_string(each) == name) return each;
    return std::nullopt;
}

IPYBOX_DECL std::string write_grants(std::string_view server, std::vector<oauth_grant> const& grants) {
    nlohmann::json all = nlohmann::json::array();
    for (auto const& each : grants) {
        nlohmann::json one = {{"issuer", each.issuer}};
        if (each.client) one["client"] = detail::json_of(*each.client);
        if (each.tokens) one["tokens"] = detail::json_of(*each.tokens);
        all.push_back(std::move(one));
    }
    nlohmann::json const whole = {{"version", 1}, {"server", std::string(server)}, {"grants", std::move(all)}};
    return json_text(whole, 2) + "\n";
}

IPYBOX_DECL result<std::vector<oauth_grant>> read_grants(std::string_view text, std::string_view server,
                                                         std::string_view name) {
    auto const wrong = [&name](std::string_view why) {
        return failure(errc::invalid_argument,
                       std::string(name).append(" ").append(why).append(": repair it, or remove it and sign in again"));
    };
    auto const whole = read_json(text).value_or(nullptr);
    if (!whole.is_object() || !whole.contains("grants") || !whole["grants"].is_array())
        return wrong("does not hold tokens in JSON");
    if (whole.value("version", nlohmann::json()) != 1) return wrong("was written by another version of ipybox");
    detail::grant_reader reader;
    if (reader.text(whole, "server", true) != server) return wrong("belongs to another server");
    std::vector<oauth_grant> grants;
    for (auto const& each : whole["grants"]) grants.push_back(reader.grant(each));
    if (reader.is_wrong) return wrong("has a member that is missing or of a wrong type");
    return grants;
}

} // namespace ipybox::http
