// prints: granted: numbers up to 1000
// prints: refused: MemoryError
// prints: shell command git status: accepted
// prints: shell command git push: rejected, ask the release team

#include <ipybox/approval/approval_policy.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>

//! [theirs]
// Types of another library. They know nothing of ipybox and cannot be changed.
namespace corporate {

struct jail {
    std::uint64_t memory_limit;
};

struct release_rules {
    bool may_run(std::string const& verb) const { return verb == "status" || verb == "diff"; }
};

} // namespace corporate
//! [theirs]

//! [sandbox_traits]
// A sandbox maps a launch specification onto another one. This one puts prlimit(1) around the interpreter, and bubblewrap around both.
template <>
struct ipybox::sandbox_traits<corporate::jail> {
    static result<launch_spec> wrap(corporate::jail const& jail, launch_spec spec) {
        auto const prlimit = os::find_program("prlimit");
        // Never run with less than was asked for: an error says what is missing.
        if (prlimit.empty()) return failure(errc::sandbox_unavailable, "the jail needs prlimit (Debian: util-linux)");

        auto const limit = "--as=" + std::to_string(jail.memory_limit);
        spec.argv.insert(spec.argv.begin(), {prlimit.string(), limit, "--"});
        return bubblewrap_sandbox{}.wrap(std::move(spec));
    }
};
//! [sandbox_traits]

//! [approval_traits]
// An approval policy decides about actions outside of the kernel. It rejects all that it does not accept.
template <>
struct ipybox::approval_traits<corporate::release_rules> {
    static decision decide(corporate::release_rules const& rules, approval_request const& request) {
        auto const& command = request.argv();
        if (request.kind() == approval_kind::shell && command.size() > 1 && command[0] == "git" &&
            rules.may_run(command[1]))
            return decision::accept();
        return decision::reject("ask the release team");
    }
};
//! [approval_traits]

void ask(corporate::release_rules& rules, std::string verb) {
    ipybox::approval_subject subject;
    subject.kind = ipybox::approval_kind::shell;
    subject.argv = {"git", std::move(verb)};
    ipybox::approval_request const request(std::move(subject));

    auto const answer = ipybox::approval_traits<corporate::release_rules>::decide(rules, request);
    std::cout << request << ": " << (answer.accepted() ? "accepted" : "rejected, " + answer.reason()) << '\n';
}

int main() {
    //! [use]
    constexpr std::uint64_t gigabyte = 1'000'000'000;
    corporate::release_rules rules;
    ipybox::executor box({}, rules, corporate::jail{.memory_limit = 4 * gigabyte});

    auto small = box.execute("print('numbers up to', len(bytearray(1000)))");
    if (!small) {
        std::cerr << small.error() << '\n';
        return 1;
    }
    std::cout << "granted: " << small->text << '\n';

    auto large = box.execute("bytearray(8_000_000_000)");
    if (!large && large.error().exception()) std::cout << "refused: " << large.error().exception()->ename << '\n';
    //! [use]

    ask(rules, "status");
    ask(rules, "push");
}
