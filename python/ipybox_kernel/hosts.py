"""How a kernel reaches hosts by name: over a listening socket that is made here, and served by the host."""

from __future__ import annotations

import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: So many connections wait in the system's queue.
BACKLOG = 128

#: What is inside is reached directly.
INSIDE = "localhost,127.0.0.1,::1"


def listen() -> socket.socket:
    """A listening socket on the loopback, on a port that the system chooses."""
    return socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)


def environment(listener: socket.socket) -> dict[str, str]:
    """The variables by which programs find the proxy behind a listening socket.

    The proxy speaks SOCKS5 as well, but with ``socks5h://`` in ALL_PROXY clients that lack a package for it fail before
    they look at the other variables.
    """
    proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
    variables = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "NO_PROXY": INSIDE}
    return {**variables, **{name.lower(): value for name, value in variables.items()}}


def are_out_of_reach(env: Mapping[str, str]) -> bool:
    """Whether programs reach no host with this environment: there is no proxy, and no network but the loopback."""
    if any(name.lower().endswith("_proxy") and name.lower() != "no_proxy" for name in env):
        return False
    try:
        with open("/proc/net/dev") as devices:
            return all(line.lstrip().startswith("lo:") for line in devices if ":" in line)
    except OSError:
        return False
