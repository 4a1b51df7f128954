"""Parts of requests, checked: a child could only fail on them."""

from __future__ import annotations

from ipybox_kernel.refused import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def argv(given: Any) -> list[str]:
    """The words of a program's command line, or a refusal."""
    words = given if isinstance(given, list) else []
    if not words or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise Refused("request", "argv must be a list of strings")
    return words


def env(variables: Any) -> dict[str, str]:
    """An environment, or a refusal."""
    for name, value in variables.items():
        if not isinstance(value, str) or not name or "=" in name or "\0" in name + value:
            raise Refused("request", f"not an environment variable: {name!r}")
    return dict(variables)


def changed_env(environment: dict[str, str], changes: dict[str, str | None]) -> dict[str, str]:
    """An environment with other variables, and without those that are None; or a refusal."""
    return env({name: value for name, value in {**environment, **changes}.items() if value is not None})


def guard(name: Any) -> bool:
    """Whether a kernel is to be guarded, or a refusal."""
    if name not in (None, "no_exec"):
        raise Refused("request", f"unknown guard {name!r}")
    return name is not None


def allow(names: Any) -> list[str]:
    """The names of what the guard leaves open, or a refusal if one means nothing."""
    if not names:
        return []
    from ipybox_kernel import filters

    if not isinstance(names, list) or not set(names) <= set(filters.CHOICES):
        raise Refused("request", f"cannot allow {names!r}, only of {', '.join(filters.CHOICES)}")
    return names
