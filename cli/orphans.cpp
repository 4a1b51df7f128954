#include <ipybox/os/read_file.hpp>

#include <cli/orphans.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace ipybox::cli {
namespace {

// Not every architecture has them; none has these numbers then.
#ifdef SYS_fork
constexpr std::uint32_t number_of_fork = SYS_fork;
constexpr std::uint32_t number_of_vfork = SYS_vfork;
#else
constexpr std::uint32_t number_of_fork = ~std::uint32_t(0);
constexpr std::uint32_t number_of_vfork = ~std::uint32_t(0);
#endif

std::set<pid_t> children() {
    std::set<pid_t> found;
    auto const self = ::getpid();
    std::error_code ended;
    for (std::filesystem::directory_iterator each("/proc", ended), end; !ended && each != end; each.increment(ended)) {
        auto const name = each->path().filename().string();
        pid_t process = 0;
        auto const read = std::from_chars(name.data(), name.data() + name.size(), process);
        if (read.ptr == name.data() + name.size() && parent_of(each->path()) == self) found.insert(process);
    }
    return found;
}

/// From now on no thread of this process starts another one: where a thread's program was killed, it may be about to
/// start the next one. Where the system has no filters, that stays possible.
void start_no_more() {
    // Threads have to be told from processes by the flags of clone(2), which glibc uses where there is no clone3(2).
    constexpr std::uint32_t allowed = SECCOMP_RET_ALLOW;
    constexpr std::uint32_t unknown = SECCOMP_RET_ERRNO | ENOSYS;
    constexpr std::uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
    std::array<sock_filter, 10> steps{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of_fork, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of_vfork, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 2, 1),
        BPF_STMT(BPF_RET | BPF_K, unknown),
        BPF_STMT(BPF_RET | BPF_K, refused),
        BPF_STMT(BPF_RET | BPF_K, allowed),
    }};
    sock_fprog const filter{steps.size(), steps.data()};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
}

} // namespace

pid_t parent_of(std::filesystem::path const& process) {
    constexpr std::size_t longest = 64 * 1024;
    auto const stat = process / "stat";
    auto const text = os::read_file(stat, "reading " + stat.string(), longest);
    if (!text) return 0;
    auto const end_of_name = text->rfind(") ");
    if (end_of_name == std::string::npos || text->size() < end_of_name + 5) return 0;
    pid_t parent = 0;
    std::from_chars(text->data() + end_of_name + 4, text->data() + text->size(), parent);
    return parent;
}

orphans::orphans() : not_ours_(children()) { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void orphans::end() const {
    start_no_more();
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (bool any = true; any && std::chrono::steady_clock::now() < deadline;) {
        any = false;
        for (auto const child : children()) {
            if (not_ours_.contains(child)) continue;
            any = true; // its own children come to us when it has ended
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, WNOHANG);
        }
        if (any) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

} // namespace ipybox::cli
