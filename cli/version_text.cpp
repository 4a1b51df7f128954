#include <ipybox/app/library_version.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/version.hpp>

#include <CLI/Version.hpp>
#include <cli/version_text.hpp>

#include <string>

namespace ipybox::cli {
namespace {

void add_line(std::string& text, std::string name, std::string const& value) {
    constexpr std::size_t width = 21;
    if (name.size() < width) name.resize(width, ' ');
    text += '\n' + name + value;
}

} // namespace

std::string version_text(detail_of_version detail) {
    auto text = std::string("ipybox ") + version::text;
    if (detail == detail_of_version::alone) return text;
    for (auto const& library : library_versions())
        if (library.name != "ipybox") add_line(text, library.name, library.version);
    add_line(text, "CLI11", CLI11_VERSION);
    auto const python = find_python(*os::host_programs::now(os::code_reach({os::host_environment::now().directory()})));
    add_line(text, "Python for kernels", python ? python->string() : "none: " + python.error().text());
    return text;
}

} // namespace ipybox::cli
