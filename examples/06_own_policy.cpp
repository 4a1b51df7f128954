// prints: granted: numbers up to 1000
// prints: refused: MemoryError
// prints: run: a
// prints: rejected: curl is not among the programs that only read
// prints: rejected: write the command in a simpler way

#include <ipybox/approval.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <system_error>
#include <utility>

//! [theirs]
// Types of another library. They know nothing of ipybox and cannot be changed.
namespace corporate {

struct jail {
    std::uint64_t memory_limit;
};

struct reading_rules {
    std::set<std::string> programs{"head", "printf", "uname", "wc"};
};

} // namespace corporate
//! [theirs]

//! [sandbox_traits]
// A sandbox maps a launch specification onto another one. This one puts prlimit(1) around the interpreter, and
// bubblewrap around both.
template <>
struct ipybox::sandbox_traits<corporate::jail> {
    static result<launch_spec> wrap(corporate::jail const& jail, launch_spec spec) {
        // A program is named by its absolute path: PATH is not searched.
        auto const* const prlimit = "/usr/bin/prlimit";
        // Never run with less than was asked for: an error says what is missing.
        if (std::error_code ignored; !std::filesystem::exists(prlimit, ignored))
            return failure(errc::sandbox_unavailable, "the jail needs /usr/bin/prlimit (Debian: util-linux)");

        auto const limit = "--as=" + std::to_string(jail.memory_limit);
        spec.argv.insert(spec.argv.begin(), {prlimit, limit, "--"});
        return bubblewrap_sandbox{}.wrap(std::move(spec));
    }
};
//! [sandbox_traits]

//! [approval_traits]
// An approval policy decides about actions outside of the kernel. This one accepts shell lines of programs that only
// read.
template <>
struct ipybox::approval_traits<corporate::reading_rules> {
    static decision decide(corporate::reading_rules const& rules, approval_request const& request) {
        if (request.kind() != approval_subject::action::shell)
            return decision::reject("only shell commands are allowed");
        auto const line = request.commands();
        // A line that is not understood may start more than `commands` names.
        if (!line.understood()) return decision::reject("write the command in a simpler way");
        for (auto const& command : line.commands) {
            if (command.words.empty() || command.redirected || !command.assigned.empty())
                return decision::reject("neither files nor variables may be written");
            auto const& program = command.words[0].text;
            if (!rules.programs.contains(program))
                return decision::reject(program + " is not among the programs that only read");
        }
        return decision::accept_commands(); // these, however a shell would read the text
    }
};
//! [approval_traits]

void run(ipybox::executor_base& box, std::string line) {
    auto const done = box.execute(std::move(line));
    if (done)
        std::cout << "run: " << done->text << '\n';
    else if (done.error().exception())
        std::cout << "rejected: " << done.error().exception()->evalue << '\n';
    else
        std::cerr << done.error() << '\n';
}

int main() {
    //! [use]
    constexpr std::uint64_t gigabyte = 1'000'000'000;
    corporate::jail const jail{.memory_limit = 4 * gigabyte};
    ipybox::executor box({.approval = {.shell_cmds = true}}, corporate::reading_rules{}, jail);

    auto small = box.execute("print('numbers up to', len(bytearray(1000)))");
    if (!small) {
        std::cerr << small.error() << '\n';
        return 1;
    }
    std::cout << "granted: " << small->text << '\n';

    auto large = box.execute("bytearray(8_000_000_000)");
    if (!large && large.error().exception()) std::cout << "refused: " << large.error().exception()->ename << '\n';

    run(box, "!printf 'a\\nb\\n' | head -n 1");
    run(box, "!uname -r; curl https://example.org");
    run(box, "!$(printf uname)");
    //! [use]
}
