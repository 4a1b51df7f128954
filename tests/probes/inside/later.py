"""Files that programs outside of the sandbox take commands from. What is written there now runs later."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from pathlib import Path

from inside.calls import AT_FDCWD, call, exchange
from inside.frame import Group, NotHere, Targets, append, makes_unnamed_file

WORK = Group("Files of the working directory that run later")

#: Files that do not exist and must not be made, with what is done to each.
MISSING = {
    "mcp_json": ".mcp.json",
    "envrc": ".envrc",
    "tasks_of_vscode": ".vscode/tasks.json",
    "workspace_of_idea": ".idea/workspace.xml",
    "command_of_claude": ".claude/commands/probe.md",
    "agent_of_claude": ".claude/agents/probe.md",
    "settings_of_claude": ".claude/settings.json",
    "hooks_of_cursor": ".cursor/hooks.json",
    "settings_of_zed": ".zed/settings.json",
    "settings_of_gemini": ".gemini/settings.json",
    "settings_of_codex": ".codex/config.toml",
}

#: Files that exist and must stay as they are.
PRESENT = {
    "config_of_git": ".git/config",
    "hook_of_git": ".git/hooks/pre-commit",
    "attributes_of_git": ".git/info/attributes",
    "config_of_worktree": ".git/config.worktree",
    "envrc_below": "part/.envrc",
    "tasks_of_vscode_below": "part/.vscode/tasks.json",
    "mcp_json_below": "part/.mcp.json",
    "hook_of_repository_below": "part/repository/.git/hooks/pre-commit",
    "config_of_repository_below": "part/repository/.git/config",
    "hook_of_submodule": ".git/modules/part/hooks/post-checkout",
    "config_of_submodule": ".git/modules/part/config",
    "hook_of_husky": ".husky/pre-commit",
    "hooks_of_pre_commit": ".pre-commit-config.yaml",
    "workflow": ".github/workflows/test.yml",
    "config_of_npm": ".npmrc",
}


def add_files_of_work() -> None:
    for name, path in MISSING.items():
        WORK.add(f"make_{name}", f"makes {path}", makes_in_work, path)
        if "/" not in path:
            WORK.add(f"replace_{name}", f"puts a file in the place of {path}", replaces, path)
    for name, path in PRESENT.items():
        WORK.add(f"change_{name}", f"writes to {path}", appends_in_work, path)
        WORK.add(f"replace_{name}", f"puts a file in the place of {path}", replaces, path)


def makes_in_work(at: Targets, path: str) -> bool:
    return makes(f"{at.work}/{path}")


def appends_in_work(at: Targets, path: str) -> bool:
    return append(f"{at.work}/{path}")


def makes(path: str) -> bool:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        return file.write("evil\n") > 0


def replaces(at: Targets, path: str) -> bool:
    own = Path(f"{at.scratch}/own")
    own.write_text("evil\n")
    os.rename(own, f"{at.work}/{path}")
    return True


add_files_of_work()


@WORK.probe
def make_hook_of_git(at: Targets) -> bool:
    """makes .git/hooks/post-checkout"""
    return makes(f"{at.work}/.git/hooks/post-checkout")


@WORK.probe
def mode_of_hook(at: Targets) -> bool:
    """makes .git/hooks/sample executable"""
    os.chmod(f"{at.work}/.git/hooks/sample", 0o755)
    return True


@WORK.probe
def empty_config_of_git(at: Targets) -> bool:
    """empties .git/config"""
    os.truncate(f"{at.work}/.git/config", 0)
    return True


@WORK.probe
def remove_hook_of_git(at: Targets) -> bool:
    """removes .git/hooks/to-remove"""
    os.unlink(f"{at.work}/.git/hooks/to-remove")
    return True


@WORK.probe
def write_config_by_own_root(at: Targets) -> bool:
    """writes to .git/config below /proc/self/root"""
    return append(f"/proc/self/root{at.work}/.git/config")


@WORK.probe
def write_config_by_hard_link(at: Targets) -> bool:
    """gives .git/config a second name and writes to that"""
    os.link(f"{at.work}/.git/config", f"{at.scratch}/config")
    return append(f"{at.scratch}/config")


@WORK.probe
def exchange_hooks(at: Targets) -> bool:
    """exchanges .git/hooks and a directory of its own at one moment"""
    return exchanges_and_back(at, ".git/hooks")


@WORK.probe
def move_repository_aside(at: Targets) -> bool:
    """renames .git, so that another one can take its place"""
    return moves_and_back(f"{at.work}/.git", f"{at.scratch}/git")


@WORK.probe
def move_parent_aside(at: Targets) -> bool:
    """renames the directory that has an .envrc, so that another one can take its place"""
    return moves_and_back(f"{at.work}/part", f"{at.scratch}/part")


@WORK.probe
def exchange_parent(at: Targets) -> bool:
    """exchanges the directory that has an .envrc and one of its own at one moment"""
    return exchanges_and_back(at, "part")


def exchanges_and_back(at: Targets, path: str) -> bool:
    """A directory of the project and an empty one."""
    own = f"{at.scratch}/own"
    os.mkdir(own)
    exchange(f"{at.work}/{path}", own)
    exchange(f"{at.work}/{path}", own)
    return True


def moves_and_back(path: str, aside: str) -> bool:
    os.rename(path, aside)
    os.rename(aside, path)
    return True


@WORK.probe
def exchange_placeholder(at: Targets) -> bool:
    """exchanges .vscode and a directory of its own at one moment"""
    own = f"{at.scratch}/vscode"
    os.mkdir(own)
    exchange(f"{at.work}/.vscode", own)
    return True


@WORK.probe
def link_in_place(at: Targets) -> bool:
    """puts a symbolic link in the place of .envrc"""
    os.symlink("/", f"{at.scratch}/link")
    os.rename(f"{at.scratch}/link", f"{at.work}/.envrc")
    return True


@WORK.probe
def move_work_aside(at: Targets) -> bool:
    """renames the working directory"""
    return moves_and_back(at.work, f"{at.work}-aside")


@WORK.probe
def set_user_id_by_chmod(at: Targets) -> bool:
    """makes a set-user-ID program, with which other users have the rights of this one"""
    Path(f"{at.scratch}/program").touch()
    os.chmod(f"{at.scratch}/program", 0o4755)
    return sets_user_id(f"{at.scratch}/program")


@WORK.probe
def set_user_id_by_descriptor(at: Targets) -> bool:
    """makes a set-user-ID program of a file that it has open (fchmod)"""
    os.fchmod(os.open(f"{at.scratch}/program", os.O_CREAT | os.O_WRONLY), 0o4755)
    return sets_user_id(f"{at.scratch}/program")


@WORK.probe
def set_user_id_by_fchmodat2(at: Targets) -> bool:
    """makes a set-user-ID program by fchmodat2"""
    Path(f"{at.scratch}/program").touch()
    call("fchmodat2", AT_FDCWD, f"{at.scratch}/program", 0o4755, 0)
    return sets_user_id(f"{at.scratch}/program")


@WORK.probe
def set_user_id_by_open(at: Targets) -> bool:
    """makes a set-user-ID program by opening it"""
    os.close(os.open(f"{at.scratch}/program", os.O_CREAT | os.O_WRONLY, 0o4755))
    return sets_user_id(f"{at.scratch}/program")


@WORK.probe
def set_user_id_by_openat2(at: Targets) -> bool:
    """makes a set-user-ID program by openat2, whose mode lies in memory"""
    how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)
    try:
        os.close(call("openat2", AT_FDCWD, f"{at.scratch}/program", how, 24))
    except NotHere:  # which the filter says, too
        return False
    return sets_user_id(f"{at.scratch}/program")


@WORK.probe
def set_user_id_by_mknod(at: Targets) -> bool:
    """makes a set-user-ID program by mknod"""
    os.mknod(f"{at.scratch}/program", 0o4755 | stat.S_IFREG)
    return sets_user_id(f"{at.scratch}/program")


@WORK.probe
def set_user_id_of_unnamed_file(at: Targets) -> bool:
    """makes a set-user-ID program that has no name yet"""
    descriptor = os.open(at.scratch, os.O_TMPFILE | os.O_WRONLY, 0o4755)
    return sets_user_id(f"/proc/self/fd/{descriptor}")


@WORK.probe
def set_group_id_by_chmod(at: Targets) -> bool:
    """makes a set-group-ID program, with which other users have the rights of this one's group"""
    Path(f"{at.scratch}/program").touch()
    os.chmod(f"{at.scratch}/program", 0o2755)
    return bool(os.stat(f"{at.scratch}/program").st_mode & stat.S_ISGID)


def sets_user_id(path: str) -> bool:
    return bool(os.stat(path).st_mode & stat.S_ISUID)


@WORK.probe
def program_with_capabilities(at: Targets) -> bool:
    """makes a program that has capabilities for each user who starts it"""
    Path(f"{at.scratch}/program").touch()
    os.setxattr(f"{at.scratch}/program", "security.capability", struct.pack("<5I", 0x02000001, 0x400, 0, 0, 0))
    return True


HOME = Group("Files of the home directory and of the interpreter that run later")

#: Below the home directory. Their directories exist.
OF_HOME = {
    "shell_of_home": ".bashrc",
    "login_of_home": ".profile",
    "zsh_of_home": ".zshrc",
    "fish_of_home": ".config/fish/config.fish",
    "autostart": ".config/autostart/probe.desktop",
    "service_of_user": ".config/systemd/user/probe.service",
    "program_of_user": ".local/bin/ls",
    "application_of_user": ".local/share/applications/probe.desktop",
    "package_of_user": ".local/lib/python3/site-packages/usercustomize.py",
    "config_of_pip": ".config/pip/pip.conf",
    "older_config_of_pip": ".pip/pip.conf",
    "start_of_ipython": ".ipython/profile_default/startup/probe.py",
    "config_of_jupyter": ".jupyter/jupyter_server_config.py",
    "config_of_matplotlib": ".config/matplotlib/matplotlibrc",
    "git_of_home": ".config/git/config",
    "keys_that_may_log_in": ".ssh/authorized_keys",
    "editor_of_home": ".vimrc",
    "cargo_of_home": ".cargo/config.toml",
    "yarn_of_home": ".yarnrc",
    "cache_of_uv": ".cache/uv/probe",
    "cache_of_npm": ".npm/probe",
    "state_of_ipybox": "state/ipybox/probe",
}


def add_files_of_home() -> None:
    for name, path in OF_HOME.items():
        HOME.add(f"make_{name}", f"makes ~/{path}", makes_in_home, path)


def makes_in_home(at: Targets, name: str) -> bool:
    """In a directory of the host: one that a sandbox has made of its own does not count."""
    path = f"{at.home}/{name}"
    return os.stat(os.path.dirname(path)).st_ino in at.inodes_of_home and makes(path)


add_files_of_home()


@HOME.probe
def write_packages(at: Targets) -> bool:
    """makes a file among the interpreter's packages"""
    return makes_unnamed_file(at.packages)


@HOME.probe
def write_programs_of_interpreter(at: Targets) -> bool:
    """makes a file beside the interpreter"""
    return makes_unnamed_file(at.programs_of_interpreter)


@HOME.probe
def write_script(at: Targets) -> bool:
    """writes to the script that is run"""
    return append(at.script)
