#include <ipybox/app/diagnose.hpp>

#include <CLI/Version.hpp>
#include <cli/doctor.hpp>

#include <string>

namespace ipybox::cli {
namespace {

exit_code exit_code_of(readiness r) {
    switch (r) {
    case readiness::ready: return exit_code::ok;
    case readiness::incomplete: return exit_code::failed;
    case readiness::no_kernel: break;
    }
    return exit_code::cannot_start;
}

} // namespace

exit_code examine(doctor_options const& options, std::stop_token const& stop, output_file& out) {
    diagnose_options how;
    how.sandbox = std::string(name_of(options.sandbox));
    how.python = options.python;
    how.working_dir = options.working_dir;
    auto found = diagnose(how, stop);
    if (stop.stop_requested()) return exit_code::failed;
    found.libraries.push_back({"CLI11", CLI11_VERSION});
    out.write(options.json ? found.json() + '\n' : found.text());
    return exit_code_of(found.readiness());
}

} // namespace ipybox::cli
