#pragma once

#include <ipybox/app/diagnosis.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/version.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace ipybox {
namespace detail {

/// "0.41 s"
inline std::string in_seconds(std::chrono::milliseconds elapsed) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f s", static_cast<double>(elapsed.count()) / 1000);
    return text;
}

inline std::string padded(std::string_view text, std::size_t width) {
    std::string result(text);
    if (auto const has = count_characters(text); has < width) result.append(width - has, ' ');
    return result;
}

inline std::string_view mark_of(finding const& f) noexcept {
    if (f.state == finding_state::works) return "yes";
    if (f.state == finding_state::untried) return "-";
    return f.needed ? "NO" : "no";
}

/// The details of a finding, behind its name and version.
inline std::string particulars_of(finding const& f) {
    std::string text = f.path.string();
    auto const add = [&text](std::string_view more) {
        if (!more.empty()) text.append(text.empty() ? "" : "  ").append(more);
    };
    if (f.elapsed) add("first cell after " + in_seconds(*f.elapsed));
    add(f.note);
    return text;
}

/// Widths of the columns, the same in all groups.
struct finding_columns {
    std::size_t name = 0;
    std::size_t version = 0;
};

inline finding_columns columns_of(std::vector<finding_group> const& groups) {
    finding_columns widths;
    for (auto const& group : groups) {
        for (auto const& f : group.findings) {
            widths.name = std::max(widths.name, count_characters(f.name));
            widths.version = std::max(widths.version, count_characters(f.version));
        }
    }
    return widths;
}

/// Lines, the second and later ones indented like the first.
inline void add_indented(std::string& text, std::string_view indent, std::string_view lines) {
    while (!lines.empty()) {
        auto const line = lines.substr(0, lines.find('\n'));
        text.append(indent).append(line).append("\n");
        lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    }
}

inline void add_finding(std::string& text, finding const& f, finding_columns const& widths) {
    auto line = "  " + padded(mark_of(f), 5) + padded(f.name, widths.name) + "  " + padded(f.version, widths.version) +
                "  " + particulars_of(f);
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + '\n';
    add_indented(text, "         ", f.gap);
    if (!f.remedy.empty()) text += "         to mend it: " + f.remedy + '\n';
}

inline void add_policies(std::string& text, sandbox_report const& report) {
    for (auto const& policy : report.policies) {
        if (!policy.gap.empty()) continue; // its kernel's finding says why
        text += "  " + policy.policy + (policy.whole() ? ": nothing is missing\n" : ":\n");
        for (auto const& protection : policy.protections)
            if (!protection.enforced()) text += "         " + protection.what + "; " + protection.gap + '\n';
    }
    text += "  cgroup v2: " + cgroup_in_words(report.machine) + '\n';
}

inline void add_libraries(std::string& text, std::vector<library_version> const& libraries) {
    std::size_t width = 0;
    for (auto const& library : libraries) width = std::max(width, count_characters(library.name));
    for (auto const& library : libraries) text += "  " + padded(library.name, width) + "  " + library.version + '\n';
}

inline std::string readiness_in_words(diagnosis const& d) {
    switch (d.readiness()) {
    case readiness::ready:
        return d.sandbox == "none" ? "Ready: code runs, without a sandbox."
                                   : "Ready: code runs with --sandbox " + d.sandbox + ".";
    case readiness::incomplete: return "Not ready: code runs, but what is marked NO does not work.";
    case readiness::no_kernel: break;
    }
    return "Not ready: no kernel starts.";
}

using diagnosis_json = nlohmann::ordered_json;

inline diagnosis_json or_null(std::string const& text) {
    return text.empty() ? diagnosis_json() : diagnosis_json(text);
}

inline diagnosis_json finding_to_json(std::string const& group, finding const& f) {
    return {{"group", group},
            {"name", f.name},
            {"state", to_string(f.state)},
            {"needed", f.needed},
            {"version", or_null(f.version)},
            {"path", or_null(f.path.string())},
            {"note", or_null(f.note)},
            {"elapsed_ms", f.elapsed ? diagnosis_json(f.elapsed->count()) : diagnosis_json()},
            {"gap", or_null(f.gap)},
            {"remedy", or_null(f.remedy)}};
}

inline diagnosis_json policy_to_json(sandbox_report::policy_report const& policy) {
    auto protections = diagnosis_json::array();
    for (auto const& protection : policy.protections)
        protections.push_back({{"what", protection.what}, {"gap", or_null(protection.gap)}});
    return {{"policy", policy.policy}, {"gap", or_null(policy.gap)}, {"protections", std::move(protections)}};
}

inline diagnosis_json machine_to_json(sandbox_report::machine_parts const& machine) {
    return {{"system", machine.system},
            {"bubblewrap", or_null(machine.bubblewrap)},
            {"srt", or_null(machine.srt)},
            {"landlock", machine.landlock},
            {"seccomp_filters", machine.seccomp_filters},
            {"delegated_cgroup", machine.delegated_cgroup},
            {"cgroup_controllers", or_null(machine.cgroup_controllers)},
            {"cgroup_advice", or_null(machine.cgroup_advice)},
            {"root", machine.root},
            {"container", machine.container}};
}

} // namespace detail

IPYBOX_DECL readiness diagnosis::readiness() const noexcept {
    bool has_kernel = false;
    bool lacks = false;
    for (auto const& group : groups) {
        for (auto const& f : group.findings) {
            bool const works = f.state == finding_state::works;
            has_kernel = has_kernel || (works && group.name == "kernels");
            lacks = lacks || (f.needed && !works);
        }
    }
    if (!has_kernel) return readiness::no_kernel;
    return lacks ? readiness::incomplete : readiness::ready;
}

IPYBOX_DECL std::string diagnosis::text() const {
    std::string text = std::string("ipybox ") + version::text + " on " + sandboxes.machine.system +
                       (sandboxes.machine.root ? ", as root" : "") +
                       (sandboxes.machine.container ? ", in a container\n" : "\n");
    auto const widths = detail::columns_of(groups);
    for (auto const& group : groups) {
        text += '\n' + group.title + '\n';
        for (auto const& f : group.findings) detail::add_finding(text, f, widths);
    }
    text += "\nProtections that the sandboxes lack (docs/sandbox.md)\n";
    detail::add_policies(text, sandboxes);
    text += "\nLibraries\n";
    detail::add_libraries(text, libraries);
    return text + '\n' + detail::readiness_in_words(*this) + '\n';
}

IPYBOX_DECL std::string diagnosis::json() const {
    using value = detail::diagnosis_json;
    auto checks = value::array();
    for (auto const& group : groups)
        for (auto const& f : group.findings) checks.push_back(detail::finding_to_json(group.name, f));
    auto policies = value::array();
    for (auto const& policy : sandboxes.policies) policies.push_back(detail::policy_to_json(policy));
    auto versions = value::object();
    for (auto const& library : libraries) versions[library.name] = library.version;
    value const whole{{"schema", 1},
                      {"verdict", to_string(readiness())},
                      {"ipybox", version::text},
                      {"sandbox", sandbox},
                      {"checks", std::move(checks)},
                      {"machine", detail::machine_to_json(sandboxes.machine)},
                      {"sandboxes", std::move(policies)},
                      {"libraries", std::move(versions)}};
    return json_text(whole);
}

} // namespace ipybox
