"""Ways to start a program, none of which a guarded kernel has. What is started would make the file `ran`."""

from __future__ import annotations

#: Those of Python itself.
STARTS = [
    "import subprocess; subprocess.run(['touch', 'ran'])",
    "import subprocess; subprocess.Popen('touch ran', shell=True, close_fds=False)",
    "import subprocess; subprocess.check_output(['touch', 'ran'])",
    "import os; os.system('touch ran')",
    "import os; os.popen('touch ran')",
    "import os; os.execv('/usr/bin/touch', ['touch', 'ran'])",
    "import os; os.execvp('touch', ['touch', 'ran'])",
    "import os; os.execlpe('touch', 'touch', 'ran', {})",
    "import os; os.posix_spawn('/usr/bin/touch', ['touch', 'ran'], {})",
    "import os; os.posix_spawnp('touch', ['touch', 'ran'], {})",
    "import os; os.spawnlp(os.P_WAIT, 'touch', 'touch', 'ran')",
    "import pty; pty.spawn(['touch', 'ran'])",
    "import multiprocessing as m; m.get_context('spawn').Process(target=int).start()",
    "import multiprocessing as m; m.get_context('forkserver').Process(target=int).start()",
    "import asyncio; await asyncio.create_subprocess_exec('touch', 'ran')",
    "import asyncio; await asyncio.create_subprocess_shell('touch ran')",
    "import multiprocessing.util as u; u.spawnv_passfds('/usr/bin/touch', ['touch', 'ran'], ())",
]

#: What the others need.
TOOLS = """
import ctypes, errno, mmap, os, posix, signal, struct, sys, threading, _posixsubprocess
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    "A system call: its result, or the name of its error."
    ctypes.set_errno(0)
    words = (ctypes.c_long(value) if isinstance(value, int) else value for value in (number, *arguments))
    result = libc.syscall(*words)
    return errno.errorcode.get(ctypes.get_errno(), 'ok') if result == -1 else result
def strings(*words):
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)
touch, argv, none = b'/usr/bin/touch', strings(b'touch', b'ran'), strings()
def in_child(action):
    "The status of a child that does something; 77 if it says that it is not permitted."
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except PermissionError:
            os._exit(77)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def machine_code(code):
    "A function made of bytes."
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    kept.append(memory)
    return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
kept = []
EXECVE, EXECVEAT = (59, 322) if os.uname().machine == 'x86_64' else (221, 281)
def memory_file():
    fd = os.memfd_create('program', 0)
    os.write(fd, open('/usr/bin/touch', 'rb').read())
    return call(EXECVEAT, fd, b'', argv, none, 0x1000)
def in_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(call(EXECVE, touch, argv, none)))
    thread.start(); thread.join()
    return results[0]
def after_fork():
    return in_child(lambda: os._exit(in_child(lambda: posix.execv(touch, [b'touch', b'ran']))))
def in_terminal():
    import pty
    pid, fd = pty.fork()
    if pid == 0:
        try: posix.execv(touch, [b'touch', b'ran'])
        except PermissionError: os._exit(77)
        finally: os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def spawn_from_path():
    pid = ctypes.c_int()
    return libc.posix_spawnp(ctypes.byref(pid), b'touch', None, None, argv, none)
def fork_exec():
    import multiprocessing.util
    del sys.modules['_posixsubprocess']  # what is imported now was changed by nobody
    pid = multiprocessing.util.spawnv_passfds(touch, [b'touch', b'ran'], ())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def after_vfork():
    "A child that shares its parent's memory while the parent waits, as that of vfork() does."
    stack = mmap.mmap(-1, 1 << 20)
    top = ctypes.addressof(ctypes.c_char.from_buffer(stack)) + (1 << 20)
    action = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    child = action(lambda _: 77 if call(EXECVE, touch, argv, none) == 'EPERM' else 1)
    CLONE_VM, CLONE_VFORK = 0x100, 0x4000
    pid = ctypes.PyDLL(None).clone(child, ctypes.c_void_p(top), CLONE_VM | CLONE_VFORK | signal.SIGCHLD, None)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""

#: Ways past Python's own functions, and what comes of them.
PAST_PYTHON: dict[str, object] = {
    "fork_exec()": 255,
    "posix.system('touch ran') >> 8": 127,
    "libc.system(b'touch ran') >> 8": 127,
    "in_child(lambda: posix.execv(touch, [b'touch', b'ran']))": 77,
    "in_child(lambda: posix.execve(touch, [b'touch', b'ran'], {}))": 77,
    "in_child(lambda: posix.posix_spawn(touch, [b'touch', b'ran'], {}))": 77,
    "call(EXECVE, touch, argv, none)": "EPERM",
    "call(EXECVE, touch, argv, none, 1, 2, 3)": "EPERM",
    "call(EXECVEAT, -100, touch, argv, none, 0)": "EPERM",
    "[libc.execve(touch, argv, none), errno.errorcode[ctypes.get_errno()]][1]": "EPERM",
    "[libc.fexecve(os.open(touch, os.O_RDONLY), argv, none), errno.errorcode[ctypes.get_errno()]][1]": "EPERM",
    "libc.posix_spawn(None, touch, None, None, argv, none)": 1,
    "memory_file()": "EPERM",
    "in_thread()": "EPERM",
    "after_fork()": 77,
    "in_terminal()": 77,
    "spawn_from_path()": 1,
    "after_vfork()": 77,
}
