"""All probes there are."""

from __future__ import annotations

from inside import files, kernel, later, network, processes, sharing, siblings
from inside.frame import Group, Probe

GROUPS: list[Group] = [
    files.SECRETS,
    files.OUTSIDE,
    files.SYSTEM,
    later.WORK,
    later.HOME,
    processes.SIGNALS,
    processes.MEMORY,
    kernel.NAMESPACES,
    kernel.CALLS,
    network.INTERNET,
    network.UNIX,
    sharing.MESSAGES,
    sharing.LIMITS,
]


def all_probes() -> list[Probe]:
    return probes_of(GROUPS)


def sibling_probes() -> list[Probe]:
    """Those that aim at another kernel of the same runtime."""
    return probes_of(siblings.GROUPS)


def probes_of(groups: list[Group]) -> list[Probe]:
    probes = [probe for group in groups for probe in group.probes.values()]
    assert len(probes) == len({probe.name for probe in probes})
    return probes
