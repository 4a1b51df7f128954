"""How a kernel reaches hosts by name: over a listening socket that is made here, and served by the host."""

from __future__ import annotations

import socket

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
