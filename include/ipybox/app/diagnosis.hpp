#pragma once

#include <ipybox/app/finding.hpp>
#include <ipybox/app/library_version.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/sandbox/sandbox_report.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox {

/// The conclusion of a diagnosis.
enum class readiness {
    ready,      ///< everything that is needed works
    incomplete, ///< code runs, but something that is needed does not work: the wanted sandbox, a directory
    no_kernel   ///< no kernel starts
};

/// "ready", "incomplete", "no_kernel".
[[nodiscard]] constexpr std::string_view to_string(readiness r) noexcept {
    switch (r) {
    case readiness::ready: return "ready";
    case readiness::incomplete: return "incomplete";
    case readiness::no_kernel: break;
    }
    return "no_kernel";
}

/// The parts of a machine that work, and advice about the others. `diagnose` makes one.
struct diagnosis {
    std::string sandbox;                         ///< the policy that is wanted: "bubblewrap", …
    std::vector<finding_group> groups;           ///< in the order of the text
    sandbox_report sandboxes;                    ///< what each policy can enforce
    std::vector<library_version> libraries = {}; ///< what ipybox was compiled with

    /// Whether code runs as it was asked for.
    [[nodiscard]] ipybox::readiness readiness() const noexcept;

    /// For people: a line for each finding in aligned columns, each gap with what mends it, and the conclusion. Ends
    /// with a line break.
    [[nodiscard]] std::string text() const;

    /// For programs: one object in one line, without a line break. docs/doctor.md has its schema.
    [[nodiscard]] std::string json() const;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/diagnosis.ipp>
#endif
