#pragma once

#include <ipybox/core/strict_json.hpp>
#include <ipybox/sandbox/device_files.hpp>
#include <ipybox/sandbox/impl/config_reader.hpp>
#include <ipybox/sandbox/parent_proxy_url.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace ipybox::detail {

/// A key that means nothing in this library, and why.
struct foreign_key {
    std::string_view name;
    std::string_view reason;
};

inline constexpr std::string_view of_macos = "is meant for macOS";
inline constexpr std::string_view of_windows = "is meant for Windows";
inline constexpr std::string_view of_srt = "is meant for srt's own programs, which are not used here";
inline constexpr std::string_view not_here = "is not supported; remove it, or run srt itself";
inline constexpr std::string_view inspects =
    "needs a proxy that reads encrypted traffic, which is not supported; remove it";

inline constexpr std::array<foreign_key, 10> accepted_keys{{
    {"allowAppleEvents", of_macos},
    {"allowPty", of_macos},
    {"enableWeakerNetworkIsolation", of_macos},
    {"ignoreViolations", of_macos},
    {"windows", of_windows},
    {"ripgrep", of_srt},
    {"seccomp", of_srt},
    {"socatPath", of_srt},
    {"javaAgentJarPath", of_srt},
    {"enableWeakerNestedSandbox", "is not needed: where /proc cannot be mounted, it is replaced"},
}};

inline constexpr std::array<foreign_key, 1> refused_keys{{{"git", not_here}}};

inline constexpr std::array<foreign_key, 2> accepted_network_keys{{
    {"allowLocalBinding", "is meant for macOS: here the loopback of the sandbox is its own"},
    {"allowMachLookup", of_macos},
}};

inline constexpr std::array<foreign_key, 10> refused_network_keys{{
    {"httpProxyPort", not_here},
    {"socksProxyPort", not_here},
    {"filterRequest", not_here},
    {"mitmProxy", inspects},
    {"tlsTerminate", inspects},
    {"allowPlaintextHeaderSet", inspects},
    {"stripResponseHeaders", inspects},
    {"refuseOpaqueTunnels", inspects},
    {"requireHostMatch", inspects},
    {"ambiguousRequestTarget", inspects},
}};

/// Reads a configuration, and keeps the first thing that is wrong with it.
class sandbox_config_reader {
  public:
    explicit sandbox_config_reader(nlohmann::json const& document) : document_(document, "") {}

    /// \return what is wrong
    std::optional<json_problem> read(sandbox_config& into) {
        accept(document_, accepted_keys, into);
        refuse(document_, refused_keys);
        read_below(document_, "filesystem", [&](strict_object& o) { read_filesystem(o, into.filesystem); });
        read_below(document_, "network", [&](strict_object& o) { read_network(o, into); });
        read_below(document_, "credentials", [&](strict_object& o) { read_credentials(o, into); });
        read_devices(into);
        read_depth(into);
        set(into.nested_user_namespaces, document_.flag("allowNestedUserNamespaces"));
        read_bwrap(into);
        finish(document_);
        return std::move(problem_);
    }

  private:
    template <class T>
    static void set(T& member, std::optional<T> value) {
        if (value) member = *std::move(value);
    }

    template <class Keys>
    static void accept(strict_object& object, Keys const& keys, sandbox_config& into) {
        for (auto const& key : keys) {
            if (!object.find(key.name)) continue;
            into.notices.push_back(std::string(key.name).append(" ").append(key.reason));
        }
    }

    template <class Keys>
    static void refuse(strict_object& object, Keys const& keys) {
        for (auto const& key : keys)
            if (object.find(key.name)) object.fail(key.name, key.reason);
    }

    template <class Read>
    void read_below(strict_object& object, std::string_view name, Read read) {
        auto below = object.object(name);
        if (!below) return;
        read(*below);
        finish(*below);
    }

    void finish(strict_object& object) {
        auto found = object.problem();
        if (!problem_) problem_ = std::move(found);
    }

    void read_filesystem(strict_object& object, sandbox_config::file_access& into) {
        set(into.deny_read, paths(object, "denyRead"));
        set(into.allow_read, paths(object, "allowRead"));
        set(into.allow_write, paths(object, "allowWrite"));
        set(into.deny_write, paths(object, "denyWrite"));
        set(into.allow_git_config, object.flag("allowGitConfig"));
        if (object.flag("disabled").value_or(false))
            object.fail("disabled", "would switch the rules for files off; choose no sandbox if that is meant");
    }

    std::optional<std::vector<sandbox_config::path_entry>> paths(strict_object& object, std::string_view name) {
        auto const* entries = object.array(name);
        if (!entries) return std::nullopt;
        std::vector<sandbox_config::path_entry> read;
        for (std::size_t i = 0; i < entries->size(); ++i) {
            auto const place = std::string(name) + "/" + std::to_string(i);
            if (auto path = one_path(object, place, (*entries)[i])) read.push_back(*std::move(path));
        }
        return read;
    }

    /// The system ends a path at its first NUL.
    static bool is_path(std::string_view text) { return !text.empty() && text.find('\0') == text.npos; }

    /// A text, or {"path": "…", "literal": true}.
    std::optional<sandbox_config::path_entry> one_path(strict_object& list, std::string const& place,
                                                       nlohmann::json const& entry) {
        if (!entry.is_object()) {
            auto const* text = entry.get_ptr<std::string const*>();
            if (text && is_path(*text)) return sandbox_config::path_entry{*text};
            list.fail(place, "a path is wanted, or {\"path\": \"…\", \"literal\": true}");
            return std::nullopt;
        }
        strict_object object(entry, list.place(place));
        auto path = object.text("path").value_or("");
        if (!is_path(path)) object.fail("path", "a path is wanted");
        if (!object.flag("literal").value_or(false)) object.fail("literal", "true is wanted");
        finish(object);
        return sandbox_config::path_entry{std::move(path), true};
    }

    void read_network(strict_object& object, sandbox_config& into) {
        auto& network = into.network;
        accept(object, accepted_network_keys, into);
        refuse(object, refused_network_keys);
        set(network.allowed_domains, parsed(object, "allowedDomains", &domain_pattern_from));
        set(network.denied_domains, parsed(object, "deniedDomains", &sandbox_config::domain_pattern::parse_denied));
        set(network.denied_addresses, parsed(object, "deniedResolvedAddresses", &sandbox_config::address_range::parse));
        set(network.allowed_addresses, parsed(object, "allowedAddresses", &sandbox_config::address_range::parse));
        network.ask_for_others = !object.flag("strictAllowlist").value_or(network.allowed_domains.empty());
        set(network.all_unix_sockets, object.flag("allowAllUnixSockets"));
        if (auto sockets = object.texts("allowUnixSockets"))
            network.unix_sockets.assign(sockets->begin(), sockets->end());
        read_reasons(object, network);
        read_below(object, "parentProxy", [&](strict_object& proxy) { read_proxy(proxy, network); });
    }

    static result<sandbox_config::domain_pattern> domain_pattern_from(std::string_view text) {
        return sandbox_config::domain_pattern::parse(text);
    }

    /// A list of texts, each of which `parse` understands.
    template <class T>
    static std::optional<std::vector<T>> parsed(strict_object& object, std::string_view name,
                                                result<T> (*parse)(std::string_view)) {
        auto const texts = object.texts(name);
        if (!texts) return std::nullopt;
        std::vector<T> values;
        for (std::size_t i = 0; i < texts->size(); ++i) {
            auto value = parse((*texts)[i]);
            if (value) {
                values.push_back(*std::move(value));
            } else {
                object.fail(std::string(name) + "/" + std::to_string(i), value.error().text());
            }
        }
        return values;
    }

    static void read_reasons(strict_object& object, sandbox_config::network_access& into) {
        auto const* reasons = object.find("deniedDomainReasons");
        if (!reasons) return;
        if (!reasons->is_object()) return object.fail("deniedDomainReasons", "an object is wanted");
        for (auto const& [domain, reason] : reasons->items()) {
            if (!reason.is_string()) return object.fail("deniedDomainReasons/" + domain, "text is wanted");
            into.denied_domain_reasons.emplace(domain, reason.get<std::string>());
        }
    }

    static void read_proxy(strict_object& object, sandbox_config::network_access& into) {
        auto const http = object.text("http");
        set(into.parent_proxy, object.text("https"));
        if (into.parent_proxy.empty()) set(into.parent_proxy, http);
        into.parent_proxy_exceptions = exceptions_in(object.text("noProxy").value_or(""));
    }

    /// Secrets that code must not see. To show it others in their place (`mask`) takes a proxy that reads encrypted
    /// traffic.
    void read_credentials(strict_object& object, sandbox_config& into) {
        each_credential(object, "files", "path",
                        [&](std::string path) { into.filesystem.deny_read.push_back({std::move(path)}); });
        each_credential(object, "envVars", "name",
                        [&](std::string name) { into.hidden_variables.push_back(std::move(name)); });
    }

    template <class Take>
    void each_credential(strict_object& object, std::string_view list, std::string_view key, Take take) {
        auto const* entries = object.array(list);
        for (std::size_t i = 0; entries && i < entries->size(); ++i) {
            strict_object entry((*entries)[i], object.place(list) + "/" + std::to_string(i));
            auto named = entry.text(key).value_or("");
            if (named.empty()) entry.fail(key, "text is wanted");
            auto const mode = entry.text("mode").value_or("");
            if (mode == "mask") entry.fail("mode", inspects);
            if (mode != "mask" && mode != "deny") entry.fail("mode", "deny is wanted");
            for (auto const* unused :
                 {"extract", "onExtractNoMatch", "decode", "maskClaims", "maskDuplicates", "injectHosts"})
                (void)entry.find(unused); // of `mask` alone
            finish(entry);
            take(std::move(named));
        }
    }

    void read_devices(sandbox_config& into) {
        auto devices = document_.texts("devices");
        for (std::size_t i = 0; devices && i < devices->size(); ++i)
            if (!is_device_name((*devices)[i]))
                document_.fail("devices/" + std::to_string(i), "a path below /dev is wanted, or nvidia");
        set(into.devices, std::move(devices));
    }

    void read_depth(sandbox_config& into) {
        constexpr std::uint64_t deepest = 10;
        auto const depth = document_.count("mandatoryDenySearchDepth");
        if (!depth) return;
        if (*depth > deepest) document_.fail("mandatoryDenySearchDepth", "an integer from 1 to 10 is wanted");
        into.search_depth = static_cast<int>(std::min(*depth, deepest));
    }

    void read_bwrap(sandbox_config& into) {
        auto const path = document_.text("bwrapPath");
        if (!path) return;
        into.bwrap = *path;
        if (!into.bwrap.is_absolute()) document_.fail("bwrapPath", "an absolute path is wanted");
    }

    strict_object document_;
    std::optional<json_problem> problem_;
};

/// The line of the value at `place`, or of the object that it is missing from.
inline std::ptrdiff_t line_of(std::string_view place, std::string_view text) {
    for (; !place.empty(); place = place.substr(0, place.rfind('/')))
        if (auto const part = json_part(text, place)) {
            auto const offset = static_cast<std::size_t>(part->data() - text.data());
            return 1 + std::ranges::count(text.substr(0, offset), '\n');
        }
    return 1;
}

/// "NAME:LINE: filesystem/allowWrite: WHY".
inline error located(json_problem const& problem, std::string_view text, std::string_view name) {
    auto const where = std::string(name).append(":").append(std::to_string(line_of(problem.place, text)));
    auto const key = problem.place.empty() ? problem.place : problem.place.substr(1) + ": ";
    return error(errc::invalid_argument, where + ": " + key + problem.reason);
}

IPYBOX_DECL result<sandbox_config> read_config(std::string_view text, std::string_view name) {
    auto const document = parse_strictly(text, name);
    if (!document) return failure(document.error());
    sandbox_config read;
    auto const problem = sandbox_config_reader(*document).read(read);
    if (problem) return failure(located(*problem, text, name));
    return read;
}

} // namespace ipybox::detail
