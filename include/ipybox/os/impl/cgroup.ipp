#pragma once

#include <ipybox/os/cgroup.hpp>
#include <ipybox/os/directory_stream.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/os/write_all.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox::os {
namespace detail {

/// Bytes that are read of a file of a group.
inline constexpr std::size_t longest_cgroup_file = 65536;

/// Its text, empty where it cannot be read.
inline std::string cgroup_text(std::filesystem::path const& file) {
    return read_file(file, file.string(), longest_cgroup_file).value_or("");
}

/// Writes to a file that is there. 0, or the number of the error.
inline int write_to_cgroup(std::filesystem::path const& file, std::string_view value) noexcept {
    unique_fd const fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    return fd ? write_all(fd.get(), value) : errno;
}

/// The number behind a name in a file of lines like "oom_kill 1"; the number in a file without names.
inline std::optional<std::uint64_t> cgroup_number(std::filesystem::path const& file, std::string_view name = {}) {
    std::istringstream lines(cgroup_text(file));
    for (std::string line; std::getline(lines, line);) {
        std::string_view text = line;
        if (!name.empty()) {
            if (!text.starts_with(name) || text.substr(name.size(), 1) != " ") continue;
            text.remove_prefix(name.size() + 1);
        }
        std::uint64_t value = 0;
        auto const read = std::from_chars(text.data(), text.data() + text.size(), value);
        if (read.ec == std::errc()) return value;
    }
    return std::nullopt;
}

inline unique_fd open_group(int above, char const* name) {
    return unique_fd(::openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// The names of the groups in an open one.
inline std::vector<std::string> groups_in(unique_fd const& group) {
    std::vector<std::string> names;
    directory_stream entries(open_group(group.get(), "."));
    if (!entries) return names;
    while (auto const* entry = entries.next())
        if (entry->d_type == DT_DIR) names.emplace_back(entry->d_name);
    return names;
}

/// Removes the groups below an open one, the deepest ones first. Code may have made them deeper than a path is long,
/// and than a process has descriptors.
inline void remove_groups_below(unique_fd at) {
    struct level {
        std::string name;
        std::vector<std::string> below;
    };
    std::vector<level> way{{{}, groups_in(at)}};
    for (;;) {
        if (auto& below = way.back().below; !below.empty()) {
            auto name = std::move(below.back());
            below.pop_back();
            auto down = open_group(at.get(), name.c_str());
            if (!down) continue; // it has been removed
            at = std::move(down);
            way.push_back({std::move(name), groups_in(at)});
            continue;
        }
        auto above = way.size() > 1 ? open_group(at.get(), "..") : unique_fd();
        if (!above) return;
        at = std::move(above);
        (void)::unlinkat(at.get(), way.back().name.c_str(), AT_REMOVEDIR);
        way.pop_back();
    }
}

/// Removes a group without processes, those below it first. The files in it are no files of a disk.
inline bool remove_empty_cgroup(std::filesystem::path const& directory) {
    if (::rmdir(directory.c_str()) == 0 || errno == ENOENT) return true;
    if (auto top = open_group(AT_FDCWD, directory.c_str())) remove_groups_below(std::move(top));
    return ::rmdir(directory.c_str()) == 0 || errno == ENOENT;
}

/// Waits until a group has processes no more, or has some again; false where it cannot say.
inline bool await_cgroup_event(std::filesystem::path const& directory, std::chrono::milliseconds bound) {
    unique_fd const events(::open((directory / "cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 256> text{};
    if (!events || ::read(events.get(), text.data(), text.size()) < 0) return false;
    pollfd watched{events.get(), POLLPRI, 0};
    (void)::poll(&watched, 1, static_cast<int>(bound.count()));
    return true;
}

/// The process that has made a group, as the name of that says.
struct cgroup_maker {
    std::uint64_t pid_namespace = 0;
    std::uint64_t pid = 0;
    std::uint64_t start =
        0; ///< of the process, in ticks since the machine started: numbers of processes are given again
};

inline constexpr std::string_view cgroup_prefix = "ipybox-";

inline std::optional<cgroup_maker> maker_in(std::string const& name) {
    if (!name.starts_with(cgroup_prefix)) return std::nullopt;
    cgroup_maker maker;
    std::uint64_t count = 0;
    auto const* at = name.data() + cgroup_prefix.size();
    auto const* const end = name.data() + name.size();
    for (auto* number : {&maker.pid_namespace, &maker.pid, &maker.start, &count}) {
        auto const [behind, wrong] = std::from_chars(at, end, *number);
        bool const is_last = number == &count;
        if (wrong != std::errc() || (behind == end) != is_last || (!is_last && *behind != '-')) return std::nullopt;
        at = behind + (is_last ? 0 : 1);
    }
    if (maker.pid_namespace == 0 || maker.pid == 0 || maker.pid > INT_MAX || maker.start == 0) return std::nullopt;
    return maker;
}

/// The number of this process' pid namespace, 0 where the system does not say.
inline std::uint64_t pid_namespace() {
    struct ::stat status{};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/// A process, by proc_pid_stat(5).
struct process_stat {
    char state = 0;
    std::uint64_t threads = 0;
    std::uint64_t start = 0;
};

/// None where it cannot be read.
inline std::optional<process_stat> stat_of(std::uint64_t pid) {
    auto const text = cgroup_text("/proc/" + std::to_string(pid) + "/stat");
    auto const name_end = text.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields(text.substr(name_end + 1));
    process_stat found;
    std::string skipped;
    fields >> found.state;
    for (int field = 4; field < 20; ++field) fields >> skipped;
    if (!(fields >> found.threads >> skipped >> found.start)) return std::nullopt;
    return found;
}

/// Whether /proc numbers processes as this process does: it may belong to a pid namespace around this one.
inline bool has_own_proc() {
    std::error_code missing;
    return std::filesystem::read_symlink("/proc/self", missing) == std::to_string(::getpid());
}

inline bool has_ended(cgroup_maker const& maker) {
    auto const found = stat_of(maker.pid);
    if (!found) return ::kill(static_cast<pid_t>(maker.pid), 0) != 0 && errno == ESRCH; // others cannot be looked into
    // The state is that of its first thread, which may end before the others.
    return found->start != maker.start || ((found->state == 'Z' || found->state == 'X') && found->threads <= 1);
}

inline error cgroup_failure(std::string const& what, int number) {
    auto const failed = ipybox::detail::system_failure(what, number);
    return error(errc::sandbox_unavailable, failed.text()).with_cause(failed.cause());
}

inline result<void> set_in_cgroup(std::filesystem::path const& file, std::string const& value) {
    if (int const number = write_to_cgroup(file, value); number != 0)
        return failure(cgroup_failure("writing " + value + " to " + file.string(), number));
    return {};
}

} // namespace detail

IPYBOX_DECL result<std::shared_ptr<cgroup const>> cgroup::make(std::filesystem::path directory,
                                                               std::chrono::milliseconds patience) {
    if (::mkdir(directory.c_str(), 0755) != 0) {
        int const why = errno;
        auto const bound =
            why == EAGAIN ? ", whose number or depth has a bound above it (cgroup.max.descendants, cgroup.max.depth)"
                          : "";
        return failure(detail::cgroup_failure("making the cgroup " + directory.string() + bound, why));
    }
    return std::shared_ptr<cgroup const>(new cgroup(std::move(directory), patience));
}

IPYBOX_DECL cgroup::~cgroup() {
    if (owner_.is_this()) (void)remove_cgroup(directory_, patience_);
}

IPYBOX_DECL result<void> cgroup::set(char const* file, std::string const& value) const {
    return detail::set_in_cgroup(directory_ / file, value);
}

IPYBOX_DECL result<void> cgroup::limit_memory(std::uint64_t bytes) const {
    if (auto limited = set("memory.max", std::to_string(bytes)); !limited) return limited;
    auto const swap = directory_ / "memory.swap.max";
    int const wrong = detail::write_to_cgroup(swap, "0");
    if (wrong != 0 && wrong != ENOENT) // a system without swap, or that does not count it, has no such file
        return failure(detail::cgroup_failure("writing 0 to " + swap.string(), wrong));
    return set("memory.oom.group", "1");
}

IPYBOX_DECL result<void> cgroup::limit_processes(std::uint64_t number) const {
    constexpr std::uint64_t most = 4194304; // more than the system has numbers for
    return set("pids.max", number < most ? std::to_string(number) : "max");
}

IPYBOX_DECL result<void> give_controllers(std::filesystem::path const& directory, std::string const& controllers) {
    return controllers.empty() ? result<void>()
                               : detail::set_in_cgroup(directory / "cgroup.subtree_control", controllers);
}

IPYBOX_DECL result<unique_fd> cgroup::entrance() const {
    auto const file = directory_ / "cgroup.procs";
    unique_fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) return failure(detail::cgroup_failure("opening " + file.string(), errno));
    return fd;
}

IPYBOX_DECL std::optional<exit_status::exceeded_limit> cgroup::exceeded_memory() const {
    return exceeded_memory_of(directory_);
}

IPYBOX_DECL std::optional<exit_status::exceeded_limit> exceeded_memory_of(std::filesystem::path const& directory) {
    auto const events = directory / "memory.events";
    // Processes may also have been ended for the limit of a group above, or because the machine has no more: then "oom"
    // is not counted here.
    if (detail::cgroup_number(events, "oom").value_or(0) == 0 ||
        detail::cgroup_number(events, "oom_kill").value_or(0) == 0)
        return std::nullopt;
    auto const limit = detail::cgroup_number(directory / "memory.max");
    if (!limit) return std::nullopt;
    auto const used = detail::cgroup_number(directory / "memory.peak"); // from Linux 5.19 on
    return exit_status::exceeded_limit{exit_status::exceeded_limit::kind::memory,
                                       std::max(used.value_or(*limit), *limit), *limit};
}

IPYBOX_DECL bool remove_cgroup(std::filesystem::path const& directory, std::chrono::milliseconds bound) noexcept {
    static constexpr auto longest_wait = std::chrono::milliseconds(10);
    auto const until = std::chrono::steady_clock::now() + bound;
    try {
        if (detail::remove_empty_cgroup(directory)) return true;
        for (;;) {
            (void)detail::write_to_cgroup(directory / "cgroup.kill", "1");
            if (detail::remove_empty_cgroup(directory)) return true;
            if (std::chrono::steady_clock::now() >= until || !detail::await_cgroup_event(directory, longest_wait))
                return false;
        }
    } catch (...) {
        return false; // no memory for names; the next start removes them
    }
}

IPYBOX_DECL std::string new_cgroup_name() {
    static std::atomic<std::uint64_t> count{0};
    auto const pid = static_cast<std::uint64_t>(::getpid());
    auto const found = detail::has_own_proc() ? detail::stat_of(pid) : std::nullopt;
    std::string name(detail::cgroup_prefix);
    for (auto const part : {detail::pid_namespace(), pid, found ? found->start : 0})
        name.append(std::to_string(part)).append("-");
    return name + std::to_string(++count);
}

IPYBOX_DECL bool is_stale_cgroup_name(std::string const& name) {
    auto const maker = detail::maker_in(name);
    return maker && maker->pid_namespace == detail::pid_namespace() && detail::has_own_proc() &&
           detail::has_ended(*maker);
}

IPYBOX_DECL void remove_stale_cgroups(std::filesystem::path const& directory,
                                      std::chrono::milliseconds bound) noexcept {
    auto const until = std::chrono::steady_clock::now() + bound;
    try {
        std::error_code gone;
        std::vector<std::filesystem::path> stale;
        for (auto entry = std::filesystem::directory_iterator(directory, gone);
             !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone))
            if (is_stale_cgroup_name(entry->path().filename().string())) stale.push_back(entry->path());
        for (auto const& group : stale) {
            auto const left = until - std::chrono::steady_clock::now();
            (void)remove_cgroup(group, std::chrono::ceil<std::chrono::milliseconds>(left));
        }
    } catch (...) { // no memory for names; the next start removes them
    }
}

} // namespace ipybox::os
