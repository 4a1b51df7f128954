#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

/** \file
 * Steps of a child before it becomes a program, while it runs in the memory of its parent.
 */

namespace ipybox::os::detail {

// The child shares our memory but not the sanitizers' idea of threads and descriptors: hence bare system calls.
#define IPYBOX_UNSANITIZED __attribute__((no_sanitize("address", "thread", "undefined")))

/// The number that a name consists of, -1 where it is something else.
IPYBOX_UNSANITIZED inline int number_of(char const* name) {
    int number = *name ? 0 : -1;
    for (; number >= 0 && *name; ++name) number = *name >= '0' && *name <= '9' ? number * 10 + (*name - '0') : -1;
    return number;
}

/// Closes what the system lists as open from a number on. False where it lists nothing.
IPYBOX_UNSANITIZED inline bool close_listed(int from) {
    int const listing = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY));
    if (listing < 0) return false;
    alignas(dirent64) char entries[4096];
    long size = 0;
    while ((size = ::syscall(SYS_getdents64, listing, entries, sizeof entries)) > 0) {
        for (long at = 0; at < size;) {
            auto const* const entry = reinterpret_cast<dirent64 const*>(entries + at);
            at += entry->d_reclen;
            int const number = number_of(entry->d_name);
            if (number >= from && number != listing) (void)::syscall(SYS_close, number);
        }
    }
    int const why = errno;
    (void)::syscall(SYS_close, listing);
    errno = why;
    return size == 0;
}

/// Linux before 5.9 has no close_range, and sandboxes of containers deny it.
IPYBOX_UNSANITIZED inline bool close_from(int from) {
    return ::syscall(SYS_close_range, static_cast<unsigned>(from), ~0U, 0) == 0 || close_listed(from);
}

/// Gives up what no program that runs from here on can get back. False where the system refuses.
IPYBOX_UNSANITIZED inline bool drop_capabilities() {
    // The bounding set: what a program's file could give. Refused to ordinary users, to whom no file gives any here.
    for (int number = 0; ::syscall(SYS_prctl, PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number)
        (void)::syscall(SYS_prctl, PR_CAPBSET_DROP, number, 0, 0, 0);
    (void)::syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct const version{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct const none[_LINUX_CAPABILITY_U32S_3]{};
    return ::syscall(SYS_capset, &version, none) == 0;
}

// As the system call takes them.
inline constexpr unsigned long bind_mount = MS_BIND;
inline constexpr unsigned long all_for_themselves = MS_REC | MS_SLAVE;
inline constexpr unsigned long read_only_again = MS_REMOUNT | MS_BIND | MS_RDONLY;
/// Flags of a mount that one made of it must keep, as the system may have locked them. statfs(2) has the same numbers.
inline constexpr unsigned long locked_flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

/// Makes one node of a device read-only, in the mounts of this process.
IPYBOX_UNSANITIZED inline bool make_read_only(char const* device) {
    struct ::statfs about{};
    if (::syscall(SYS_statfs, device, &about) != 0) return errno == ENOENT;
    if (::syscall(SYS_mount, device, device, nullptr, bind_mount, nullptr) != 0) return false;
    auto const flags = read_only_again | (static_cast<unsigned long>(about.f_flags) & locked_flags);
    return ::syscall(SYS_mount, nullptr, device, nullptr, flags, nullptr) == 0;
}

/// Makes nodes of devices read-only for this process and all that it starts: their modes, owners and times cannot be
/// changed, while the devices can be read and written. True also where the system lets this process mount nothing.
IPYBOX_UNSANITIZED inline bool protect_devices(char const* const* devices) {
    if (!*devices) return true;
    auto const is_refused = []() IPYBOX_UNSANITIZED { return errno == EPERM || errno == EACCES; };
    if (::syscall(SYS_unshare, CLONE_NEWNS) != 0) return is_refused();
    // Unmounts of the host also happen here; mounts that are made here are not seen by the host.
    if (::syscall(SYS_mount, nullptr, "/", nullptr, all_for_themselves, nullptr) != 0) return is_refused();
    for (; *devices; ++devices)
        if (!make_read_only(*devices)) return is_refused();
    return true;
}

} // namespace ipybox::os::detail
