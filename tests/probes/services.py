"""Servers, sockets and shared memory of the host, which tell a secret to anyone who asks."""

from __future__ import annotations

import ctypes
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)


def protocols() -> list[str]:
    """The kinds of sockets that are there without a module that would have to be loaded for them."""
    kinds = [line.split()[0] for line in Path("/proc/net/protocols").read_text().splitlines()]
    netlinks = {line.split()[1] for line in Path("/proc/net/netlink").read_text().splitlines()[1:]}
    return kinds + [f"netlink {number}" for number in sorted(netlinks)]


@contextmanager
def of_network(text: str) -> Iterator[dict[str, Any]]:
    with ExitStack() as until_end:
        tcp = until_end.enter_context(socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True))
        udp = until_end.enter_context(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
        udp.bind(("", 0))
        serve_stream(tcp, text)
        serve_datagrams(udp, text)
        yield {
            "port": tcp.getsockname()[1],
            "udp_port": udp.getsockname()[1],
            "udp_lite_port": until_end.enter_context(udp_lite(text)) if "UDP-Lite" in protocols() else None,
            "address_of_network": address_of_network(),
            "interfaces": [name for _, name in socket.if_nameindex() if name != "lo"] or None,
            "network": os.readlink("/proc/self/ns/net"),
        }


@contextmanager
def udp_lite(text: str) -> Iterator[int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136) as server:
        server.bind(("127.0.0.1", 0))
        serve_datagrams(server, text)
        yield server.getsockname()[1]


def address_of_network() -> str | None:
    """An address of this machine that is not its loopback. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        try:
            client.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(client.getsockname()[0])


def serve_stream(server: socket.socket, text: str) -> None:
    def serve() -> None:
        client, _ = server.accept()
        with client:
            client.recv(100)
            client.send(text.encode())

    in_background(serve)


def serve_datagrams(server: socket.socket, text: str) -> None:
    def serve() -> None:
        _, client = server.recvfrom(100)
        server.sendto(text.encode(), client)

    in_background(serve)


def in_background(serve: Callable[[], None]) -> None:
    def go_on() -> None:
        while True:
            try:
                serve()
            except ConnectionError:
                continue
            except OSError:  # the socket is closed
                return

    threading.Thread(target=go_on, daemon=True).start()


@contextmanager
def of_unix(text: str, root: Path, work: Path) -> Iterator[dict[str, Any]]:
    paths = {"unix_path": str(root / "s"), "unix_path_in_work": str(work / "s")}
    name = f"ipybox-probe-{secrets.token_hex(8)}"
    with ExitStack() as until_end:
        for address in (*paths.values(), f"\0{name}"):
            server = until_end.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(address)
            server.listen()
            serve_stream(server, text)
        datagrams = until_end.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        datagrams.bind(str(root / "d"))
        yield {**paths, "unix_datagram_path": str(root / "d"), "abstract_name": name}


@contextmanager
def of_ipc(text: str) -> Iterator[dict[str, int]]:
    """Shared memory, a semaphore and a queue of System V, open to all users."""
    key = secrets.randbelow(1 << 30) + 1
    make = 0o1666  # IPC_CREAT
    libc.shmat.restype = ctypes.c_void_p
    memory, semaphore, queue = libc.shmget(key, 4096, make), libc.semget(key, 1, make), libc.msgget(key, make)
    place = libc.shmat(memory, None, 0)
    ctypes.memmove(place, text.encode(), len(text))
    libc.shmdt(ctypes.c_void_p(place))
    libc.semctl(semaphore, 0, 16, 42)  # SETVAL
    message = ctypes.create_string_buffer((1).to_bytes(8, "little") + text.encode())
    libc.msgsnd(queue, message, len(text), 0)
    try:
        yield {"key": key}
    finally:
        libc.shmctl(memory, 0, None)  # IPC_RMID
        libc.semctl(semaphore, 0, 0)
        libc.msgctl(queue, 0, None)
