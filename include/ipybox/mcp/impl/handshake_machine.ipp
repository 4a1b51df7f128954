#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/mcp/handshake_machine.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace ipybox::mcp {
namespace detail {

template <std::size_t N>
bool is_among(std::array<std::string_view, N> const& versions, std::string_view version) {
    return std::find(versions.begin(), versions.end(), version) != versions.end();
}

/// A member that is a string, or nothing.
inline std::string text_of(nlohmann::json const& object, char const* name) {
    auto const found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A member, or null.
inline nlohmann::json const& member(nlohmann::json const& object, char const* name) {
    static auto const& nothing = ipybox::detail::never_destroyed<nlohmann::json>();
    auto const found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() ? *found : nothing;
}

inline std::vector<std::string> strings_of(nlohmann::json const& array) {
    std::vector<std::string> strings;
    if (!array.is_array()) return strings;
    for (auto const& element : array)
        if (element.is_string()) strings.push_back(element.get<std::string>());
    return strings;
}

inline error unknown_versions(std::vector<std::string> const& named) {
    std::string list;
    for (auto const& version : named) list.append(list.empty() ? "" : ", ").append(version);
    return {errc::mcp_version_unsupported, "speaks no version of the protocol that is known here; it names: " + list};
}

inline session session_with(detail::era e, std::string version, nlohmann::json const& about,
                            nlohmann::json const& info) {
    session s{e, std::move(version), text_of(info, "name"), text_of(info, "version")};
    if (member(about, "instructions").is_string()) s.instructions = text_of(about, "instructions");
    s.announces_tool_changes =
        member(member(member(about, "capabilities"), "tools"), "listChanged") == nlohmann::json(true);
    auto const& requests = member(member(member(about, "capabilities"), "tasks"), "requests");
    s.runs_tasks = member(member(requests, "tools"), "call").is_object();
    return s;
}

} // namespace detail

IPYBOX_DECL bool handshake_machine::may(question q) const noexcept {
    if (q == question::initialize) return how_ != negotiation::stateless_only && !initialize_tried_;
    return how_ != negotiation::handshake_only && !discover_tried_;
}

IPYBOX_DECL handshake_machine::step handshake_machine::begin() {
    bool const discovers = how_ == negotiation::discover_first || how_ == negotiation::stateless_only;
    return discovers && may(question::discover) ? ask_discover() : ask_initialize();
}

IPYBOX_DECL handshake_machine::step handshake_machine::ask_initialize() {
    asked_ = question::initialize;
    initialize_tried_ = true;
    static auto const& version = ipybox::detail::never_destroyed<std::string>(json_string(handshake_versions.front()));
    return ask{
        "initialize", {}, {{"protocolVersion", version}, {"capabilities", "{}"}, {"clientInfo", client_info}}, false};
}

IPYBOX_DECL handshake_machine::step handshake_machine::ask_discover() {
    asked_ = question::discover;
    discover_tried_ = true;
    session const claimed{detail::era::stateless, std::string(stateless_versions.front())};
    return ask{"server/discover", request_meta(claimed), {}, may(question::initialize)};
}

IPYBOX_DECL handshake_machine::step handshake_machine::on_result(std::string_view result) {
    return asked_ == question::initialize ? on_initialized(result) : on_discovered(result);
}

IPYBOX_DECL handshake_machine::step handshake_machine::on_initialized(std::string_view result) {
    auto const about = read_json(result).value_or(nullptr);
    auto version = detail::text_of(about, "protocolVersion");
    if (version.empty()) return error(errc::protocol_error, "answered `initialize` without a version of the protocol");
    if (!detail::is_among(handshake_versions, version)) return detail::unknown_versions({version});
    return agreed{
        detail::session_with(detail::era::handshake, std::move(version), about, detail::member(about, "serverInfo")),
        true};
}

IPYBOX_DECL handshake_machine::step handshake_machine::on_discovered(std::string_view result) {
    auto const about = read_json(result).value_or(nullptr);
    auto const versions = detail::strings_of(detail::member(about, "supportedVersions"));
    for (auto const version : stateless_versions)
        if (std::find(versions.begin(), versions.end(), version) != versions.end()) {
            auto const& info = detail::member(detail::member(about, "_meta"), "io.modelcontextprotocol/serverInfo");
            return agreed{detail::session_with(detail::era::stateless, std::string(version), about, info), false};
        }
    if (may(question::initialize)) return ask_initialize();
    if (versions.empty())
        return error(errc::protocol_error, "answered `server/discover` without a version of the protocol");
    return detail::unknown_versions(versions);
}

IPYBOX_DECL handshake_machine::step handshake_machine::on_refusal(rpc_error const& why) {
    // Whatever the code: a list of versions in the error is the server's own word about what it speaks.
    auto const named = detail::strings_of(detail::member(read_json(why.data).value_or(nullptr), "supported"));
    refusals_.append(refusals_.empty() ? "" : "; ")
        .append(asked_ == question::initialize ? "`initialize`: " : "`server/discover`: ")
        .append(to_string(why));
    // Once more where it names a version that is known: a server may have to hear of a client first, or took longer for
    // its answer than the probe may.
    bool const known = std::ranges::any_of(stateless_versions, [&](std::string_view version) {
        return std::find(named.begin(), named.end(), version) != named.end();
    });
    if (asked_ == question::initialize && may(question::discover)) return ask_discover();
    if (discover_tried_ && known && !std::exchange(discover_repeated_, true)) return ask_discover();
    if (asked_ == question::discover && may(question::initialize)) return ask_initialize();
    if (!named.empty() && !known) return detail::unknown_versions(named);
    return error(errc::mcp_refused, "refused to begin: " + refusals_);
}

IPYBOX_DECL handshake_machine::step handshake_machine::on_silence() { return on_refusal({0, "no answer", {}}); }

IPYBOX_DECL handshake_machine::step handshake_machine::on_end(error why) {
    if (asked_ == question::discover && may(question::initialize)) return start_over{};
    if (refusals_.empty()) return why;
    return error(errc::mcp_start_failed, "refused to begin: " + refusals_ + "; then it " + why.text())
        .with_status(why.status());
}

} // namespace ipybox::mcp
