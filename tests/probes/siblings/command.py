"""A command of the sibling that stays: it tells its number, and makes a file when somebody signals it."""

import os
import signal


def signalled(*_):
    open("signalled", "w").close()


signal.signal(signal.SIGURG, signalled)
with open("command.new", "w") as file:
    file.write(str(os.getpid()))
os.rename("command.new", "command")
while True:
    signal.pause()
