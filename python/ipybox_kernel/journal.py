"""The output that a kernel has not sent yet, in memory that outlives it: the supervisor finds it there."""

from __future__ import annotations

import ctypes
import mmap
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

locked_libc = ctypes.PyDLL(None)  # keeps the interpreter's lock

ROOM = 128 << 10  # characters of text
LONGEST = 4  # bytes of one in UTF-8


class Journal:
    """Text of one stream at a time, behind a byte that is the descriptor of the stream, or 0 while there is none.

    Behind the text there are zeros, so that NUL characters at its end are not kept. Text of one call of `put` is there
    as a whole.
    """

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, LONGEST * ROOM + mmap.PAGESIZE)
        self.put: Callable[[bytes], object] = self.memory.write

    def begin(self, number: int) -> None:
        """The text from now on is that of a stream; there is none yet."""
        self.memory[0] = number
        self.memory.seek(1)

    def read(self, fd: int, number: int) -> int:
        """Reads what is in a pipe now, as much as there is room for: it is here before another thread runs."""
        self.begin(number)
        place = ctypes.c_char.from_buffer(self.memory, 1)
        size = int(locked_libc.read(fd, ctypes.byref(place), ctypes.c_size_t(LONGEST * ROOM)))
        self.memory.seek(1 + max(0, size))
        return max(0, size)

    def pending(self) -> bytes:
        """The text."""
        return self.memory[1 : self.memory.tell()]

    def clear(self) -> None:
        """The text has been sent."""
        end = self.memory.tell()
        self.memory[:end] = bytes(end)
        self.memory.seek(1)

    def keep(self) -> None:
        """In the supervisor: no other kernel is to find it in its memory."""
        self.memory.madvise(mmap.MADV_DONTFORK)

    def left(self) -> tuple[int, bytes]:
        """The descriptor and the text that a process has left here."""
        number = self.memory[0]
        return number, self.memory[1:].rstrip(b"\0") if number else b""

    def close(self) -> None:
        """Lets go of the memory."""
        del self.put
        self.memory.close()


class Leftovers:
    """The supervisor's part of a kernel's outputs: what is left in the journal goes the way that the rest goes."""

    def __init__(self, journal: Journal, ends: list[int]) -> None:
        self.journal = journal
        self.ends = ends  # writing ends of the pipes for descriptors 1 and 2
        journal.keep()

    def deliver(self) -> None:
        """The kernel has ended, and all that wrote there: what does not fit into the pipe is left out."""
        number, text = self.journal.left()
        if number in (1, 2):
            end = self.ends[number - 1]
            os.set_blocking(end, False)
            try:
                while text:
                    text = text[os.write(end, text) :]
            except OSError:
                pass
        self.journal.close()
        self.close()

    def close(self) -> None:
        """Lets go of the pipes."""
        for end in self.ends:
            os.close(end)
