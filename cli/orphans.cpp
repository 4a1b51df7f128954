#include <ipybox/os/read_file.hpp>

#include <cli/orphans.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace ipybox::cli {
namespace {

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
