#include <cli/limit_notice.hpp>

#include <unistd.h>

#include <fstream>
#include <string>

namespace ipybox::cli {
namespace {

/// Whether the user is root of the machine, and not only of a user namespace: the system counts no processes of that one.
bool is_root() {
    if (::geteuid() != 0) return false;
    unsigned long inside = 0;
    unsigned long outside = 0;
    std::ifstream map("/proc/self/uid_map");
    return !(map >> inside >> outside) || outside == 0;
}

} // namespace

std::string notice_about_limits(run_options const& options) {
    if (!options.limits_processes || !options.limits.processes) return {};
    auto const without_effect = "--limit processes=" + std::to_string(*options.limits.processes) + " has no effect ";
    if (is_root())
        return without_effect + "for root, whose processes the system does not limit; run ipybox as another user";
    if (options.sandbox == sandbox_choice::bubblewrap || options.sandbox == sandbox_choice::best) return {};
    return without_effect + "with --sandbox " + std::string(name_of(options.sandbox)) +
           ": processes are counted in bubblewrap alone";
}

} // namespace ipybox::cli
