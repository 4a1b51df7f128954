#include <cli/man_page.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace ipybox::cli {
namespace {

/// Text that roff takes for nothing else (groff_char(7)).
std::string roff_text(std::string_view text) {
    std::string result;
    for (char const c : text) {
        if (c == '\\')
            result += "\\e";
        else if (c == '-')
            result += "\\-";
        else if (c == '`')
            result += "\\(ga";
        else if (c == '\'')
            result += "\\(aq";
        else if (c == '^')
            result += "\\(ha";
        else if (c == '~')
            result += "\\(ti";
        else
            result += c;
    }
    // a line that begins with a dot would be a macro
    return result.starts_with('.') ? "\\&" + result : result;
}

/// Calls a function with each line.
template <class Function>
void each_line(std::string_view text, Function then) {
    while (!text.empty()) {
        auto const line = text.substr(0, text.find('\n'));
        then(line);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
}

/// Paragraphs with blank lines between them.
std::string paragraphs(std::string_view text) {
    std::string page;
    each_line(text, [&page](std::string_view line) { page += (line.empty() ? ".PP" : roff_text(line)) + "\n"; });
    return page;
}

/// Text with headings ("Examples:") and lines below them that stay as they are.
std::string as_it_is(std::string_view text) {
    std::string page;
    bool inside = false;
    auto const leave = [&] {
        if (inside) page += ".EE\n.RE\n";
        inside = false;
    };
    each_line(text, [&](std::string_view line) {
        if (line.empty()) return;
        if (line.front() != ' ') {
            leave();
            page += ".PP\n" + roff_text(line) + "\n";
            return;
        }
        if (!inside) page += ".RS 2\n.EX\n";
        inside = true;
        page += roff_text(line.substr(2)) + "\n";
    });
    leave();
    return page;
}

std::string options_of(command_description const& command) {
    std::string page;
    auto const add = [&page](option_description const& option) {
        page += ".TP\n";
        std::string line;
        for (auto const& name : option.names)
            line.append(line.empty() ? "" : ", ").append("\\fB").append(roff_text(name)).append("\\fR");
        if (!option.placeholder.empty())
            line.append(line.empty() ? "" : " ").append("\\fI").append(roff_text(option.placeholder)).append("\\fR");
        page += line + "\n" + roff_text(option.text) + "\n";
    };
    for (auto const& positional : command.positionals) add(positional);
    for (auto const& option : command.options) add(option);
    return page;
}

std::string synopsis_of(std::string const& program, command_description const& command) {
    auto line = "\\fB" + roff_text(program) + " " + roff_text(command.name) + "\\fR";
    for (auto const& positional : command.positionals) {
        auto const name = "\\fI" + roff_text(positional.placeholder) + "\\fR" + (positional.repeatable ? " ..." : "");
        line += positional.required ? " " + name : " [" + name + "]";
    }
    return line + " [\\fIoptions\\fR]\n";
}

constexpr std::string_view environment_section = R"(.SH ENVIRONMENT
.TP
\fBIPYBOX_PYTHON\fR
Interpreter of kernels, where no option names one.
.TP
\fBVIRTUAL_ENV\fR
Environment whose interpreter is taken where IPYBOX_PYTHON is not set.
.TP
\fBPATH\fR
Where bwrap, srt and python3 are looked for.
.TP
\fBTMPDIR\fR
Where temporary files are made.
.TP
\fBXDG_STATE_HOME\fR
Below it, in ipybox, the sandbox records the files that it holds in the place of missing ones.
)";

} // namespace

std::string man_page(command_description const& program, std::string_view version) {
    std::string title = program.name;
    std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    auto summary = summary_of(program);
    if (!summary.empty()) summary[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(summary[0])));
    std::string page = ".TH " + title + " 1 \"\" \"" + program.name + " " + std::string(version) +
                       "\" \"User Commands\"\n.SH NAME\n" + program.name + " \\- " + roff_text(summary) +
                       "\n.SH SYNOPSIS\n";
    for (auto const& command : program.commands) page += synopsis_of(program.name, command) + ".br\n";
    page += "\\fB" + program.name + "\\fR [\\fIoptions\\fR]\n.SH OPTIONS\n" + options_of(program) + ".SH COMMANDS\n";
    for (auto const& command : program.commands)
        page +=
            ".SS " + command.name + "\n" + paragraphs(command.about) + options_of(command) + as_it_is(command.footer);
    page += environment_section;
    return page + ".SH SEE ALSO\n.BR bwrap (1)\n";
}

} // namespace ipybox::cli
