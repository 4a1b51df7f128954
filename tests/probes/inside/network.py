"""Services of the host and of the network."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import subprocess
import sys

from inside.calls import call
from inside.frame import SECRET, Group, NotHere, Targets, attempt, read

INTERNET = Group("Network")

#: Ways to name a server that listens on the host's loopback.
ADDRESSES = {
    "loopback": ("127.0.0.1", socket.AF_INET),
    "another_loopback": ("127.0.0.2", socket.AF_INET),
    "any_address": ("0.0.0.0", socket.AF_INET),
    "localhost": ("localhost", socket.AF_INET),
    "loopback_6": ("::1", socket.AF_INET6),
    "mapped_loopback": ("::ffff:127.0.0.1", socket.AF_INET6),
}


def add_addresses() -> None:
    for name, (address, family) in ADDRESSES.items():
        INTERNET.add(f"tcp_to_{name}", f"asks a server of the host at {address}", asks_by_tcp, address, family)


def asks_by_tcp(at: Targets, address: str, family: int) -> bool:
    return asks(family, (address, at.port))


def asks(family: int, address: object, kind: int = socket.SOCK_STREAM, protocol: int = 0) -> bool:
    """Connects with a server that tells a secret to anyone who says something."""
    with socket.socket(family, kind, protocol) as client:
        client.settimeout(10)
        client.connect(address)  # type: ignore[arg-type]
        client.send(b"x")
        return SECRET.encode() in client.recv(100)


add_addresses()


@INTERNET.probe
def tcp_to_own_address(at: Targets) -> bool:
    """asks a server of the host at an address of the network"""
    return asks(socket.AF_INET, (at.address_of_network, at.port))


@INTERNET.probe
def tcp_with_first_data(at: Targets) -> bool:
    """asks a server of the host without connect (MSG_FASTOPEN)"""
    with socket.socket() as client:
        client.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", at.port))
        return SECRET.encode() in client.recv(100)


@INTERNET.probe
def tcp_by_several_paths(at: Targets) -> bool:
    """asks a server of the host by MPTCP"""
    at.needs("MPTCP")
    return asks(socket.AF_INET, ("127.0.0.1", at.port), protocol=262)


@INTERNET.probe
def udp_to_loopback(at: Targets) -> bool:
    """asks a server of the host by UDP"""
    return asks(socket.AF_INET, ("127.0.0.1", at.udp_port), socket.SOCK_DGRAM)


@INTERNET.probe
def udp_to_loopback_6(at: Targets) -> bool:
    """asks a server of the host by UDP over IPv6"""
    return asks(socket.AF_INET6, ("::ffff:127.0.0.1", at.udp_port), socket.SOCK_DGRAM)


@INTERNET.probe
def udp_lite_to_loopback(at: Targets) -> bool:
    """asks a server of the host by UDP-Lite"""
    at.needs("UDP-Lite")
    return asks(socket.AF_INET, ("127.0.0.1", at.udp_lite_port), socket.SOCK_DGRAM, 136)


@INTERNET.probe
def look_up_name(at: Targets) -> bool:
    """sends a question about a name to a server of the host"""
    question = b"\0\1\1\0\0\1\0\0\0\0\0\0" + b"\6probes\7invalid\0" + b"\0\1\0\1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(10)
        client.connect(("127.0.0.1", at.udp_port))
        client.send(question)
        return SECRET.encode() in client.recv(100)


@INTERNET.probe
def listen_for_host(at: Targets) -> bool:
    """listens at a port that the host can connect with"""
    with socket.create_server(("0.0.0.0", 0)):
        return shares_network(at)


def shares_network(at: Targets) -> bool:
    return bool(os.readlink("/proc/self/ns/net") == at.network)


@INTERNET.probe
def list_interfaces(at: Targets) -> bool:
    """lists interfaces of the host's network"""
    return set(at.interfaces) <= {name for _, name in socket.if_nameindex()}


@INTERNET.probe
def read_table_of_connections(at: Targets) -> bool:
    """reads which servers listen on the host (/proc/net/tcp)"""
    return any(f":{at.port:04X} " in read(f"/proc/net/{name}") for name in ("tcp", "tcp6"))


@INTERNET.probe
def raw_socket(at: Targets) -> bool:
    """sends packets of its own making"""
    return opens(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


@INTERNET.probe
def raw_icmp_socket(at: Targets) -> bool:
    """sends any message of ICMP"""
    return opens(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@INTERNET.probe
def packet_socket(at: Targets) -> bool:
    """reads all packets of an interface"""
    at.needs("PACKET")
    return opens(socket.AF_PACKET, socket.SOCK_RAW, 0)


def opens(family: int, kind: int, protocol: int = 0) -> bool:
    """Whether there is such a socket; an odd one that the system does not have says so by EAFNOSUPPORT and others."""
    try:
        socket.socket(family, kind, protocol).close()
    except OSError as error:
        if error.errno in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT):
            raise NotHere("the system has no such sockets") from error
        raise
    return True


#: Families of sockets, and what the system calls them. For one that is not there it might load a module: not a probe.
FAMILIES = {
    "vsock": (40, "AF_VSOCK", socket.SOCK_STREAM),
    "cryptography": (38, "ALG", socket.SOCK_SEQPACKET),
    "express_data_path": (44, "XDP", socket.SOCK_RAW),
    "bluetooth": (31, "HCI", socket.SOCK_RAW),
    "tipc": (30, "TIPC", socket.SOCK_STREAM),
    "rds": (21, "RDS", socket.SOCK_SEQPACKET),
    "smc": (43, "SMC", socket.SOCK_STREAM),
    "keys_of_ipsec": (15, "KEY", socket.SOCK_RAW),
}

#: Protocols of netlink: what of the kernel they ask.
NETLINKS = {
    "audit": 9,
    "connections": 4,
    "events_of_devices": 15,
    "events_of_processes": 11,
    "firewall": 12,
    "generic": 16,
    "ipsec": 6,
}


def add_families() -> None:
    for name, (family, protocol, kind) in FAMILIES.items():
        what = f"opens a socket of the family {protocol.removeprefix('AF_')}"
        INTERNET.add(f"socket_of_{name}", what, opens_if_there, protocol, family, kind)
    for name, number in NETLINKS.items():
        what = f"asks the kernel about {name.replace('_', ' ')} (netlink)"
        there = f"netlink {number}"
        INTERNET.add(f"netlink_about_{name}", what, opens_if_there, there, socket.AF_NETLINK, socket.SOCK_RAW, number)


def opens_if_there(at: Targets, needed: str, family: int, kind: int, protocol: int = 0) -> bool:
    at.needs(needed)
    return opens(family, kind, protocol)


add_families()


UNIX = Group("Unix sockets")


@UNIX.probe
def unix_stream(at: Targets) -> bool:
    """asks a service of the user at a path"""
    return asks(socket.AF_UNIX, at.unix_path)


@UNIX.probe
def unix_stream_in_work(at: Targets) -> bool:
    """asks a service of the user at a path in the working directory"""
    return asks(socket.AF_UNIX, at.unix_path_in_work)


@UNIX.probe
def unix_datagram(at: Targets) -> bool:
    """sends a datagram to a service of the user at a path"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        return client.sendto(b"x", at.unix_datagram_path) > 0


@UNIX.probe
def unix_datagram_of_pair(at: Targets) -> bool:
    """sends a datagram to a service of the user from a socketpair"""
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b"x", at.unix_datagram_path) > 0


@UNIX.probe
def unix_stream_of_pair(at: Targets) -> bool:
    """connects a socketpair anew with a service of the user"""
    one, _ = socket.socketpair()
    try:
        one.connect(at.unix_path)
    except OSError as error:
        if error.errno == errno.EISCONN:
            raise NotHere("the system connects no pair anew") from error
        raise
    return True


@UNIX.probe
def unix_abstract(at: Targets) -> bool:
    """asks a service of the user that has an abstract name"""
    return asks(socket.AF_UNIX, f"\0{at.abstract_name}")


@UNIX.probe
def unix_by_own_root(at: Targets) -> bool:
    """asks a service of the user below /proc/self/root"""
    return asks(socket.AF_UNIX, f"/proc/self/root{at.unix_path}")


@UNIX.probe
def unix_with_high_bits(at: Targets) -> bool:
    """opens a Unix socket, with bits in the upper half of the family's number"""
    descriptor = call("socket", 1 << 32 | socket.AF_UNIX, socket.SOCK_STREAM, 0)
    return attempt(socket.socket, fileno=descriptor)


@UNIX.probe
def pair_with_high_bits(at: Targets) -> bool:
    """makes a pair of datagram sockets, with bits in the upper half of the type"""
    pair = (ctypes.c_int * 2)()
    return call("socketpair", socket.AF_UNIX, 1 << 32 | socket.SOCK_DGRAM, 0, pair) == 0


@UNIX.probe
def unix_by_program(at: Targets) -> bool:
    """lets a program of Python ask a service of the user"""
    code = f"import socket; s = socket.socket(1); s.connect({at.unix_path!r}); s.send(b'x'); print(s.recv(100))"
    return SECRET in subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True).stdout


@UNIX.probe
def inherited_socket(at: Targets) -> bool:
    """asks a service of the user by a descriptor that was left open"""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        try:
            name = socket.socket(fileno=os.dup(descriptor)).getpeername()
        except OSError:
            continue
        if name not in ("", b""):  # pairs have no names
            return True
    return False
