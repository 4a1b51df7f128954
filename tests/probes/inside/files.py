"""Secrets that must not be read, and files outside of the working directory that must not be changed."""

from __future__ import annotations

import ctypes
import fcntl
import os
import stat
import struct
import subprocess
from pathlib import Path

from inside.calls import (
    AT_FDCWD,
    AT_RECURSIVE,
    MNT_DETACH,
    MS_BIND,
    MS_REMOUNT,
    OPEN_TREE_CLONE,
    USER_AND_MOUNTS,
    call,
    exchange,
    libc,
)
from inside.frame import SECRET, Group, Targets, append, attempt, makes_unnamed_file, reads_secret

SECRETS = Group("Secrets")

#: Below the home directory.
KEYS = {
    "ssh_key": ".ssh/id_ed25519",
    "aws_credentials": ".aws/credentials",
    "gnupg_key": ".gnupg/private-keys-v1.d/key",
    "netrc": ".netrc",
    "kube_config": ".kube/config",
    "docker_config": ".docker/config.json",
    "token_of_gh": ".config/gh/hosts.yml",
    "token_of_gcloud": ".config/gcloud/credentials.db",
    "npmrc": ".npmrc",
    "pypirc": ".pypirc",
}


def add_keys() -> None:
    for name, path in KEYS.items():
        SECRETS.add(f"read_{name}", f"reads ~/{path}", reads_in_home, path)


def reads_in_home(at: Targets, path: str) -> bool:
    return reads_secret(f"{at.home}/{path}")


add_keys()


@SECRETS.probe
def list_ssh_directory(at: Targets) -> bool:
    """lists ~/.ssh"""
    return "id_ed25519" in os.listdir(f"{at.home}/.ssh")


@SECRETS.probe
def read_key_by_link(at: Targets) -> bool:
    """reads ~/.ssh/id_ed25519 through a symbolic link of its own"""
    link = f"{at.scratch}/link"
    os.symlink(f"{at.home}/.ssh", link)
    return reads_secret(f"{link}/id_ed25519")


@SECRETS.probe
def read_key_by_own_root(at: Targets) -> bool:
    """reads ~/.ssh/id_ed25519 below /proc/self/root"""
    return reads_secret(f"/proc/self/root{at.home}/.ssh/id_ed25519")


@SECRETS.probe
def read_key_by_root_of_parents(at: Targets) -> bool:
    """reads ~/.ssh/id_ed25519 below /proc/PID/root of the first process and of the supervisor"""
    return any(attempt(reads_secret, f"/proc/{pid}/root{at.home}/.ssh/id_ed25519") for pid in (1, os.getppid()))


@SECRETS.probe
def read_key_by_handle(at: Targets) -> bool:
    """opens a file of ~/.ssh by its handle, which needs no path"""
    descriptor = call("open_by_handle_at", os.open("/", os.O_RDONLY), handle_of(at), os.O_RDONLY)
    return SECRET.encode() in os.read(descriptor, 100)


def handle_of(at: Targets) -> ctypes.Array[ctypes.c_char]:
    """The handle that the test has asked for."""
    return ctypes.create_string_buffer(bytes.fromhex(at.key_handle))


@SECRETS.probe
def stat_key(at: Targets) -> bool:
    """learns the size of ~/.ssh/id_ed25519"""
    return os.stat(f"{at.home}/.ssh/id_ed25519").st_size > 0


@SECRETS.probe
def watch_ssh_directory(at: Targets) -> bool:
    """watches ~/.ssh for names (inotify)"""
    directory = f"{at.home}/.ssh"
    watch = libc.inotify_add_watch(libc.inotify_init1(0), directory.encode(), 0x100)
    return bool(watch >= 0 and os.stat(directory).st_ino == at.inode_of_ssh)


@SECRETS.probe
def write_npmrc(at: Targets) -> bool:
    """writes to ~/.npmrc"""
    return append(f"{at.home}/.npmrc")


@SECRETS.probe
def read_env(at: Targets) -> bool:
    """reads .env of the working directory"""
    return reads_secret(at.env)


@SECRETS.probe
def read_env_below(at: Targets) -> bool:
    """reads .env of a directory below"""
    return reads_secret(at.env_below)


@SECRETS.probe
def read_env_by_odd_spelling(at: Targets) -> bool:
    """reads .env as deep/..//./.env"""
    return reads_secret(f"{os.path.dirname(at.env)}/deep/..//./.env")


@SECRETS.probe
def read_env_by_link(at: Targets) -> bool:
    """reads .env through a symbolic link of its own"""
    os.symlink(at.env, f"{at.scratch}/link")
    return reads_secret(f"{at.scratch}/link")


@SECRETS.probe
def read_env_by_older_link(at: Targets) -> bool:
    """reads .env through a symbolic link that was there before"""
    return reads_secret(at.link_to_env)


@SECRETS.probe
def read_env_that_is_a_link(at: Targets) -> bool:
    """reads a file that a .env is a symbolic link to, by its own name"""
    return reads_secret(at.settings_of_env_link)


@SECRETS.probe
def read_env_by_hard_link(at: Targets) -> bool:
    """gives .env a second name and reads that"""
    os.link(at.env, f"{at.scratch}/hard")
    return reads_secret(f"{at.scratch}/hard")


@SECRETS.probe
def read_env_by_own_root(at: Targets) -> bool:
    """reads .env below /proc/self/root and /proc/self/cwd"""
    return any(attempt(reads_secret, path) for path in (f"/proc/self/root{at.env}", "/proc/self/cwd/.env"))


@SECRETS.probe
def read_env_by_task_of_parent(at: Targets) -> bool:
    """reads .env below /proc/PID/cwd of other processes"""
    return any(attempt(reads_secret, f"/proc/{pid}/cwd/.env") for pid in os.listdir("/proc") if pid.isdigit())


@SECRETS.probe
def read_env_after_rename(at: Targets) -> bool:
    """renames the .env of a directory below, reads it, and gives it its name back"""
    other = f"{at.scratch}/renamed"
    os.rename(at.env_below, other)
    seen = reads_secret(other)
    os.rename(other, at.env_below)
    return seen


@SECRETS.probe
def read_env_after_rename_of_parent(at: Targets) -> bool:
    """renames the directory that has a .env, and reads it there"""
    parent = os.path.dirname(at.env_below)
    os.rename(parent, f"{parent}-renamed")
    seen = reads_secret(f"{parent}-renamed/.env")
    os.rename(f"{parent}-renamed", parent)
    return seen


@SECRETS.probe
def read_env_after_exchange(at: Targets) -> bool:
    """exchanges .env and a file of its own at one moment"""
    own = f"{at.scratch}/own"
    Path(own).touch()
    exchange(at.env_below, own)
    seen = reads_secret(own)
    exchange(at.env_below, own)
    return seen


@SECRETS.probe
def read_env_by_program(at: Targets) -> bool:
    """lets cat read .env"""
    return SECRET in subprocess.run(["cat", at.env], capture_output=True, text=True).stdout


@SECRETS.probe
def read_env_after_umount(at: Targets) -> bool:
    """unmounts what lies over .env, also in namespaces of its own"""
    attempt(call, "umount2", at.env, MNT_DETACH)
    attempt(call, "unshare", USER_AND_MOUNTS)
    attempt(call, "umount2", at.env, MNT_DETACH)
    return reads_secret(at.env)


@SECRETS.probe
def read_env_in_copy_of_tree(at: Targets) -> bool:
    """reads .env in a detached copy of the mounts (open_tree)"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    tree = call("open_tree", AT_FDCWD, os.path.dirname(at.env), OPEN_TREE_CLONE)
    return SECRET.encode() in os.read(os.open(".env", os.O_RDONLY, dir_fd=tree), 100)


@SECRETS.probe
def empty_env(at: Targets) -> bool:
    """empties a .env"""
    os.truncate(at.env_to_change, 0)
    return True


@SECRETS.probe
def remove_env(at: Targets) -> bool:
    """removes a .env"""
    os.unlink(at.env_to_change)
    return True


@SECRETS.probe
def read_tmp_of_host(at: Targets) -> bool:
    """reads a file in /tmp of the host"""
    return reads_secret(at.file_in_tmp)


@SECRETS.probe
def read_var_tmp_of_host(at: Targets) -> bool:
    """reads a file in /var/tmp of the host"""
    return reads_secret(at.file_in_var_tmp)


OUTSIDE = Group("Files outside of the working directory")


@OUTSIDE.probe
def write_file(at: Targets) -> bool:
    """writes to a file"""
    return append(f"{at.theirs}/secret")


@OUTSIDE.probe
def empty_file(at: Targets) -> bool:
    """empties a file"""
    os.truncate(f"{at.theirs}/secret", 0)
    return True


@OUTSIDE.probe
def create_file(at: Targets) -> bool:
    """makes a file"""
    Path(f"{at.theirs}/new").touch()
    return True


@OUTSIDE.probe
def create_unnamed_file(at: Targets) -> bool:
    """makes a file without a name (O_TMPFILE)"""
    return makes_unnamed_file(at.theirs)


@OUTSIDE.probe
def create_directory(at: Targets) -> bool:
    """makes a directory"""
    os.mkdir(f"{at.theirs}/new")
    return True


@OUTSIDE.probe
def create_symbolic_link(at: Targets) -> bool:
    """makes a symbolic link"""
    os.symlink("/", f"{at.theirs}/new")
    return True


@OUTSIDE.probe
def create_named_pipe(at: Targets) -> bool:
    """makes a named pipe"""
    os.mkfifo(f"{at.theirs}/new")
    return True


@OUTSIDE.probe
def remove_file(at: Targets) -> bool:
    """removes a file"""
    os.unlink(f"{at.theirs}/secret")
    return True


@OUTSIDE.probe
def rename_file(at: Targets) -> bool:
    """renames a file"""
    os.rename(f"{at.theirs}/secret", f"{at.theirs}/renamed")
    return True


@OUTSIDE.probe
def move_file_in(at: Targets) -> bool:
    """moves a file into the working directory"""
    os.rename(f"{at.theirs}/secret", f"{at.scratch}/moved")
    return True


@OUTSIDE.probe
def move_file_out(at: Targets) -> bool:
    """moves a file of its own out of the working directory"""
    Path(f"{at.scratch}/own").touch()
    os.rename(f"{at.scratch}/own", f"{at.theirs}/moved")
    return True


@OUTSIDE.probe
def exchange_files(at: Targets) -> bool:
    """exchanges a file and one of its own at one moment"""
    Path(f"{at.scratch}/own").touch()
    exchange(f"{at.theirs}/secret", f"{at.scratch}/own")
    return True


@OUTSIDE.probe
def change_mode(at: Targets) -> bool:
    """changes the mode of a file"""
    os.chmod(f"{at.theirs}/secret", 0o666)
    return True


@OUTSIDE.probe
def change_owner(at: Targets) -> bool:
    """sets the owner of a file"""
    os.chown(f"{at.theirs}/secret", os.getuid(), os.getgid())
    return True


@OUTSIDE.probe
def change_times(at: Targets) -> bool:
    """changes the times of a file"""
    os.utime(f"{at.theirs}/secret", (1, 1))
    return True


@OUTSIDE.probe
def change_attribute(at: Targets) -> bool:
    """sets an extended attribute of a file"""
    os.setxattr(f"{at.theirs}/secret", "user.probe", b"1")
    return True


@OUTSIDE.probe
def write_through_link(at: Targets) -> bool:
    """writes to a file through a symbolic link of its own"""
    os.symlink(f"{at.theirs}/secret", f"{at.scratch}/link")
    return append(f"{at.scratch}/link")


@OUTSIDE.probe
def write_through_hard_link(at: Targets) -> bool:
    """gives a file a second name in the working directory and writes to that"""
    os.link(f"{at.theirs}/secret", f"{at.scratch}/hard")
    return append(f"{at.scratch}/hard")


@OUTSIDE.probe
def write_by_parent_of_work(at: Targets) -> bool:
    """writes to a file by a path that leads up from the working directory"""
    return append(os.path.relpath(f"{at.theirs}/secret"))


@OUTSIDE.probe
def write_by_own_root(at: Targets) -> bool:
    """writes to a file below /proc/self/root"""
    return append(f"/proc/self/root{at.theirs}/secret")


@OUTSIDE.probe
def write_by_root_of_parents(at: Targets) -> bool:
    """writes to a file below /proc/PID/root of the first process and of the supervisor"""
    return any(attempt(append, f"/proc/{pid}/root{at.theirs}/secret") for pid in (1, os.getppid()))


@OUTSIDE.probe
def write_by_reopened_descriptor(at: Targets) -> bool:
    """opens a file to read, and the descriptor again to write"""
    return append(f"/proc/self/fd/{os.open(at.theirs + '/secret', os.O_RDONLY)}")


@OUTSIDE.probe
def write_by_inherited_directory(at: Targets) -> bool:
    """writes to a file from a directory that was left open"""
    os.open(".", os.O_RDONLY)  # one at least
    way = f"{'../' * 20}{at.theirs}/secret"
    return any(attempt(append, way, dir_fd=int(descriptor)) for descriptor in os.listdir("/proc/self/fd"))


@OUTSIDE.probe
def write_after_remount(at: Targets) -> bool:
    """mounts everything anew to be writable, in namespaces of its own if it gets them"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    attempt(call, "mount", None, "/", None, MS_REMOUNT | MS_BIND, None)
    return append(f"{at.theirs}/secret")


@OUTSIDE.probe
def write_by_mount_setattr(at: Targets) -> bool:
    """takes the read-only flag from all mounts (mount_setattr)"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    clear = ctypes.create_string_buffer(struct.pack("QQQQ", 0, 1, 0, 0))
    attempt(call, "mount_setattr", AT_FDCWD, "/", AT_RECURSIVE, clear, 32)
    return append(f"{at.theirs}/secret")


@OUTSIDE.probe
def lease_file(at: Targets) -> bool:
    """takes a lease of a file, for which programs wait that open it"""
    file = os.open(f"{at.theirs}/secret", os.O_RDONLY)
    fcntl.fcntl(file, 1024, fcntl.F_RDLCK)  # F_SETLEASE
    os.close(file)
    return True


@OUTSIDE.probe
def write_file_in_home(at: Targets) -> bool:
    """writes to a file in the home directory"""
    return append(f"{at.home}/notes.txt")


@OUTSIDE.probe
def write_rules(at: Targets) -> bool:
    """writes to the rules that decide about its actions"""
    return append(at.rules)


@OUTSIDE.probe
def replace_rules(at: Targets) -> bool:
    """puts a file of its own in the place of the rules"""
    Path(f"{at.scratch}/rules").write_text("{}")
    os.rename(f"{at.scratch}/rules", at.rules)
    return True


@OUTSIDE.probe
def write_audit_log(at: Targets) -> bool:
    """writes to the audit log"""
    return append(at.audit_log)


@OUTSIDE.probe
def write_configuration_of_servers(at: Targets) -> bool:
    """writes to the configuration of MCP servers"""
    return append(at.server_configuration)


@OUTSIDE.probe
def write_program_of_server(at: Targets) -> bool:
    """writes to the program of an MCP server"""
    return append(at.server_program)


@OUTSIDE.probe
def write_journal(at: Targets) -> bool:
    """writes to the list of files that the next start removes"""
    return makes_unnamed_file(os.path.dirname(at.journal))


@OUTSIDE.probe
def write_program_ipybox(at: Targets) -> bool:
    """makes a file beside the program ipybox"""
    return makes_unnamed_file(os.path.dirname(at.program))


SYSTEM = Group("Files of the system")

#: Directories in which a file without a name is made, which goes by itself.
DIRECTORIES = {
    "root_directory": "/",
    "etc": "/etc",
    "usr": "/usr",
    "programs": "/usr/bin",
    "local_programs": "/usr/local/bin",
    "libraries": "/usr/lib",
    "cron": "/etc/cron.d",
    "crontabs": "/var/spool/cron",
    "profile_of_shells": "/etc/profile.d",
    "var": "/var/lib",
    "dev": "/dev",
    "boot": "/boot",
}

#: Opened to be written to, and not written to.
SETTINGS = {
    "core_pattern": "/proc/sys/kernel/core_pattern",
    "modprobe_path": "/proc/sys/kernel/modprobe",
    "hostname": "/proc/sys/kernel/hostname",
    "limit_of_namespaces": "/proc/sys/user/max_user_namespaces",
    "drop_caches": "/proc/sys/vm/drop_caches",
    "forwarding": "/proc/sys/net/ipv4/ip_forward",
    "sysrq": "/proc/sysrq-trigger",
    "binfmt": "/proc/sys/fs/binfmt_misc/register",
    "memory_settings": "/sys/kernel/mm/transparent_hugepage/enabled",
    "uevent_helper": "/sys/kernel/uevent_helper",
    "power": "/sys/power/state",
    "release_agent": "/sys/fs/cgroup/memory/release_agent",
    "cgroup": "/sys/fs/cgroup/cgroup.procs",
    "passwd": "/etc/passwd",
    "preload": "/etc/ld.so.preload",
}

#: Devices that every program uses.
HARMLESS_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

#: Opened to be read.
DEVICES = {
    "memory": "/dev/mem",
    "ports": "/dev/port",
    "kvm": "/dev/kvm",
    "fuse": "/dev/fuse",
    "tun": "/dev/net/tun",
    "log": "/dev/kmsg",
    "console": "/dev/console",
    "virtual_terminal": "/dev/tty0",
    "loop_control": "/dev/loop-control",
    "core_of_system": "/proc/kcore",
    "log_in_proc": "/proc/kmsg",
}


def add_system_files() -> None:
    for name, path in DIRECTORIES.items():
        SYSTEM.add(f"write_{name}", f"makes a file in {path}", makes_file_in, path)
    for name, path in SETTINGS.items():
        SYSTEM.add(f"set_{name}", f"opens {path} to write", opens_if_there, path, os.O_WRONLY)
    for name, path in DEVICES.items():
        SYSTEM.add(f"open_{name}", f"opens {path}", opens_if_there, path, os.O_RDONLY)
    for name in HARMLESS_DEVICES:
        SYSTEM.add(f"mode_of_{name}", f"sets the mode of /dev/{name}", sets_mode, f"/dev/{name}")


def makes_file_in(at: Targets, directory: str) -> bool:
    return makes_unnamed_file(at.needs(directory))


def opens_if_there(at: Targets, path: str, mode: int) -> bool:
    return opens(at.needs(path), mode)


def opens(path: str, mode: int) -> bool:
    os.close(os.open(path, mode | os.O_NOCTTY | os.O_NONBLOCK))
    return True


def sets_mode(at: Targets, path: str) -> bool:
    """To what it is."""
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode))
    return True


add_system_files()


@SYSTEM.probe
def mode_of_input(at: Targets) -> bool:
    """sets the mode of /dev/null, which is its standard input"""
    os.fchmod(0, stat.S_IMODE(os.fstat(0).st_mode))
    return os.fstat(0).st_rdev == os.stat("/dev/null").st_rdev


@SYSTEM.probe
def open_disk(at: Targets) -> bool:
    """opens a block device"""
    return opens(at.block_device, os.O_RDONLY)


@SYSTEM.probe
def make_device(at: Targets) -> bool:
    """makes a node of a block device and opens it"""
    os.mknod(f"{at.scratch}/disk", 0o600 | stat.S_IFBLK, os.makedev(7, 0))
    return opens(f"{at.scratch}/disk", os.O_RDONLY)


@SYSTEM.probe
def write_terminal_of_host(at: Targets) -> bool:
    """writes to a terminal of the host"""
    return os.write(os.open(at.terminal, os.O_WRONLY | os.O_NOCTTY), b"x") > 0


@SYSTEM.probe
def list_devices_of_host(at: Targets) -> bool:
    """lists /sys/class"""
    return bool(os.listdir("/sys/class"))


@SYSTEM.probe
def run_set_user_id_program(at: Targets) -> bool:
    """starts a set-user-ID program of another user and has that one's rights"""
    shown = subprocess.run([at.set_user_id_program, "-u"], capture_output=True, text=True).stdout
    return shown.strip() == str(at.another_user)


@SYSTEM.probe
def become_another_user(at: Targets) -> bool:
    """takes the number of another user"""
    os.setuid(at.another_user)
    return True
