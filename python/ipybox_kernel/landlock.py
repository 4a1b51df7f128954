"""Landlock domains: what a kernel can signal and look into are its own processes alone."""

from __future__ import annotations

import ctypes
import os
import struct

PR_SET_NO_NEW_PRIVS = 38

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # on every machine
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
ACCESS_FS_MAKE_BLOCK, ACCESS_FS_REFER = 1 << 11, 1 << 13
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1 << 0, 1 << 1
ABI_WITH_SCOPES = 6

libc = ctypes.CDLL(None, use_errno=True)

#: Rights to all files that domains within the sandbox's grant: else they would forbid renames across directories.
handed_on = 0


def is_within_files() -> None:
    """Tells that the sandbox of this process is a domain of Landlock that restricts files."""
    global handed_on
    handed_on = ACCESS_FS_REFER


class Missing(Exception):
    """Something is impossible here; the text says what this system lacks."""


def missing(what: str) -> Missing:
    """The exception to raise after a system call has failed."""
    number = ctypes.get_errno()
    return Missing(f"{what}: {os.strerror(number)} (errno {number})")


def version() -> int:
    """The ABI of Landlock; raises Missing without one."""
    abi = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), CREATE_RULESET_VERSION)
    if abi < 1:
        raise missing("this Linux has no Landlock (it came with 5.13, and can be left out with `lsm=`)")
    return int(abi)


def give_up_new_privileges() -> None:
    """Set-user-ID programs run without the rights of their owners from now on. Domains and filters want it."""
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise missing("no_new_privs")


def keep_signals_in() -> None:
    """Enters a domain whose processes can signal each other, and look into each other, but nothing outside of it.

    Without it, code could stop the supervisor and outlive it. Older systems have no such domains: nothing happens.
    """
    try:
        if version() < ABI_WITH_SCOPES:
            return
        give_up_new_privileges()
        enter(struct.pack("QQQ", handed_on, 0, SCOPE_SIGNALS), handed_on)
    except Missing:
        return


def isolate(abi: int) -> None:
    """Enters a domain that restricts no file: memory and descriptors outside are closed; from ABI 6 on signals too.

    A domain wants something to restrict. No process could make block devices before, but a domain that handles any
    right to files forbids renames across directories unless these are granted, which was impossible with ABI 1.
    """
    if abi >= ABI_WITH_SCOPES:
        enter(struct.pack("QQQ", handed_on, 0, SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS), handed_on)
    elif abi >= 2:
        grants = ACCESS_FS_MAKE_BLOCK | ACCESS_FS_REFER
        enter(struct.pack("Q", grants), grants)
    else:
        enter(struct.pack("Q", ACCESS_FS_MAKE_BLOCK))


def enter(attributes: bytes, grants: int = 0) -> None:
    """Enters a domain with these attributes of a ruleset, and with these rights to all files."""
    ruleset = libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        raise missing("Landlock makes no ruleset")
    try:
        if grants:
            grant(ruleset, grants)
        if libc.syscall(RESTRICT_SELF, ruleset, 0):
            raise missing("Landlock does not restrict this process")
    finally:
        os.close(ruleset)


def grant(ruleset: int, rights: int) -> None:
    """Grants rights to all files."""
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        if libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights, root), 0):
            raise missing("Landlock takes no rule")
    finally:
        os.close(root)
