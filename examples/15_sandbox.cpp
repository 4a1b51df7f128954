// prints: not readable: /
// prints: data/report.txt: written
// prints: data/raw.csv: [Errno 30] Read-only file system
// prints: secrets/key.txt: [Errno 2] No such file or directory
// prints: a socket: [Errno 101] Network is unreachable
// prints: 2 GB: MemoryError

#include <ipybox/ipybox.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>

int main() {
    for (std::filesystem::path const name : {"data/raw.csv", "secrets/key.txt"}) {
        auto const file = "build/examples/sandbox" / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << "never to be changed";
    }

    //! [configuration]
    // The rules of sandbox-runtime's JSON, from a file (sandbox_config::load) or as text.
    auto config = ipybox::sandbox_config::parse(R"({
        "filesystem": {
            "denyRead": ["secrets", "**/.env"],
            "allowWrite": ["data"],
            "denyWrite": ["data/raw.csv"]
        }
    })");
    if (!config) {
        std::cerr << config.error() << '\n';
        return 1;
    }
    ipybox::bubblewrap_sandbox const sandbox(*config);

    auto const project = std::filesystem::absolute("build/examples/sandbox");
    // Before anything runs, this tells which paths can be written, which cannot be read, and which hosts can be
    // reached.
    if (auto const meant = sandbox.describe(project)) std::cout << meant->text() << '\n';

    ipybox::executor_options options;
    options.working_dir = project;
    options.sandbox.limits.memory = 1'000'000'000; // bytes of each process
    ipybox::executor box(options, ipybox::deny_approval{}, sandbox);
    //! [configuration]

    auto const result = box.execute(R"(
import socket

def attempt(what, action):
    try:
        print(f"{what}: {action() or 'written'}")
    except OSError as error:
        print(f"{what}: [Errno {error.errno}] {error.strerror}")
    except MemoryError:
        print(f"{what}: MemoryError")

attempt("data/report.txt", lambda: open("data/report.txt", "w").close())
attempt("data/raw.csv", lambda: open("data/raw.csv", "w").close())
attempt("secrets/key.txt", lambda: open("secrets/key.txt").read())
attempt("a socket", lambda: socket.create_connection(("192.0.2.1", 80), timeout=5).close())
attempt("2 GB", lambda: bytearray(2_000_000_000).clear())
)");
    if (!result) std::cerr << result.error() << '\n';
    if (result) std::cout << result->text << '\n';
    return result ? 0 : 1;
}
