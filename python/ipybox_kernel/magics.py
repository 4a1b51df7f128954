"""Magics that start programs, through the host: ``%%bash`` and all other ``%%script``s, ``%pip`` and its like."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magics.packaging import PackagingMagics
from IPython.core.magics.script import ScriptMagics
from IPython.utils.process import arg_split

from ipybox_kernel.programs import Programs
from ipybox_kernel.shell import ShellCommands


def install(shell: Any, commands: ShellCommands, programs: Programs) -> None:
    """Puts the host in the place of IPython's own ways."""
    manager = shell.magics_manager
    magics = manager.registry["ScriptMagics"]  # which makes IPython load them, if it has not done so yet
    magics.shebang = Scripts(shell, commands, programs, magics).run
    manager.register_function(magics.shebang, "cell", "script")
    # All that these want of a shell is that it runs a command. Their line has been expanded already.
    packaging = PackagingMagics(SimpleNamespace(system=partial(commands.show, kind="package"), kernel=shell.kernel))
    for name, function in packaging.magics["line"].items():
        manager.register_function(function, "line", name)


class Scripts:
    """Runs ``%%script`` cells, with the options that IPython has for them."""

    def __init__(self, shell: Any, commands: ShellCommands, programs: Programs, magics: Any) -> None:
        self.shell = shell
        self.commands = commands
        self.programs = programs
        self.magics = magics

    def run(self, line: str, cell: str) -> None:
        """Runs a cell with the program that the line names."""
        options, argv = ScriptMagics.shebang.parser.parse_known_args(arg_split(line, posix=True))
        if not argv:
            raise UsageError("%%script needs the name of a program.")
        body = (cell if cell.endswith("\n") else cell + "\n").encode("utf-8", "replace")
        if options.bg:
            self.start(argv, body, options)
            return
        code = self.finish(argv, body, options)
        self.shell.user_ns["_exit_code"] = code
        if options.raise_error and code:
            raise subprocess.CalledProcessError(code, body)

    def finish(self, argv: list[str], body: bytes, options: Any) -> int:
        """Runs a program to its end and returns its exit code."""
        kept: dict[str, list[str]] = {name: [] for name in (options.out, options.err) if name}
        stdout = kept[options.out].append if options.out else sys.stdout.write
        stderr = kept[options.err].append if options.err else sys.stderr.write
        self.commands.streams.flush()
        try:
            return self.programs.run(argv, "shell_magic", stdout, stderr, body)
        finally:
            self.commands.streams.flush()
            self.shell.user_ns.update({name: "".join(texts) for name, texts in kept.items()})

    def start(self, argv: list[str], body: bytes, options: Any) -> None:
        """Starts a program that runs beside the cells."""
        program = self.programs.start(argv, "shell_magic", body)
        program.background(keep_stdout=bool(options.out), keep_stderr=bool(options.err))
        self.magics.bg_processes.append(program)  # for %killbgscripts
        names = {options.out: program.stdout, options.err: program.stderr, options.proc: program}
        self.shell.user_ns.update({name: value for name, value in names.items() if name})
