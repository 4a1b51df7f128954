"""What the sibling keeps, run as a cell in its session: secrets in all places, and processes. Prints where they are."""

import ctypes
import fcntl
import json
import os
import pty
import random
import signal
import socket
import threading
from pathlib import Path

SECRET = "SECRET of the sibling\n"
MAKE = 0o1666  # IPC_CREAT
DIRECTORIES = ("/tmp", "/var/tmp", "/run", "/dev/shm")
libc = ctypes.CDLL(None, use_errno=True)
key = random.SystemRandom().randrange(1, 1 << 30)
name = f"ipybox-sibling-{key}"
held = []  # for as long as the session lives


def beginning(process):
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[19]


def temporary_files():
    for directory in DIRECTORIES:
        try:
            Path(directory, name).write_text(SECRET)
        except OSError:
            continue


def serve(server):
    def answer():
        while True:
            client, _ = server.accept()
            client.recv(100)
            client.send(SECRET.encode())
            client.close()

    threading.Thread(target=answer, daemon=True).start()


def serve_datagrams(server):
    def answer():
        while True:
            server.sendto(SECRET.encode(), server.recvfrom(100)[1])

    threading.Thread(target=answer, daemon=True).start()


def servers():
    tcp = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    held.extend([tcp, udp])
    serve(tcp)
    serve_datagrams(udp)
    for address in (f"\0{name}", "socket", f"/tmp/{name}.socket"):
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(address)
        unix.listen()
        held.append(unix)
        serve(unix)
    return {"port": tcp.getsockname()[1], "udp_port": udp.getsockname()[1], "abstract_name": name}


def system_v():
    libc.shmat.restype = ctypes.c_void_p
    memory, queue = libc.shmget(key, 4096, MAKE), libc.msgget(key, MAKE)
    semaphore = libc.semget(key, 1, MAKE)
    place = libc.shmat(memory, None, 0)
    ctypes.memmove(place, SECRET.encode(), len(SECRET))
    libc.semctl(semaphore, 0, 16, 42)  # SETVAL
    for _ in range(8):  # those of other probes are taken from it, too
        message = ctypes.create_string_buffer((1).to_bytes(8, "little") + SECRET.encode())
        libc.msgsnd(queue, message, len(SECRET), 0)
    return {"key": key, "posix_queue": f"/{name}" if posix_queue() else None}


def posix_queue():
    attributes = (ctypes.c_long * 8)(0, 8, 64)
    queue = libc.mq_open(f"/{name}".encode(), os.O_CREAT | os.O_RDWR, 0o666, attributes)
    return queue >= 0 and libc.mq_send(queue, SECRET.encode(), len(SECRET), 0) == 0


def terminal():
    master, slave = pty.openpty()
    os.fchmod(slave, 0o666)
    held.extend([master, slave])
    os.write(master, SECRET.encode())
    return {"terminal": os.ttyname(slave)}


def memory():
    secret = ctypes.create_string_buffer(SECRET.encode())
    held.append(secret)
    file = os.memfd_create("secret")
    os.write(file, SECRET.encode())
    gone = os.open("unlinked", os.O_CREAT | os.O_RDWR)
    os.write(gone, SECRET.encode())
    os.unlink("unlinked")
    return {"address": ctypes.addressof(secret), "descriptors": [file, gone]}


def files():
    os.mkfifo("pipe")
    lock = os.open("locked", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    held.append(lock)
    return {"inode_of_lock": os.fstat(lock).st_ino, "directory": os.getcwd()}


def look_of(descriptor):
    """What a descriptor is, unless all have the same; None if it is none."""
    try:
        known = os.fstat(descriptor)
        link = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None
    return None if link.startswith(("/dev/", "anon_inode:")) else [known.st_dev, known.st_ino]


def namespaces():
    kinds = ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup")
    return {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in kinds}


def children():
    """Processes, of which each session may have so many."""
    for _ in range(20):
        if os.fork() == 0:
            signal.pause()


children()
temporary_files()
facts = {"name": name, **servers(), **system_v(), **terminal(), **memory(), **files(), "namespaces": namespaces()}
facts["kernel"] = os.getpid()
facts["command"] = int(Path("command").read_text())
facts["beginnings"] = {number: beginning(number) for number in (str(facts["kernel"]), str(facts["command"]))}
facts["inherited"] = [look for look in map(look_of, range(3, 200)) if look]
facts["proxy_port"] = int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1].rstrip("/"))
print(json.dumps(facts))
