"""Magics that start programs, through the host: ``%%bash`` and all other ``%%script``s, ``%pip`` and its like."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ipybox_kernel import hints, packages

if TYPE_CHECKING:
    from ipybox_kernel.programs import Program, Programs
    from ipybox_kernel.shell import ShellCommands


def of_programs(shell: Any) -> list[tuple[str, str, bool]]:
    """IPython's magics that start a program: kind, name, and whether they are the package managers'.

    This looks at all magics there are. A kernel that did so would have its own copy of half a megabyte of memory.
    """
    found = []
    for kind, table in shell.magics_manager.magics.items():
        for name, function in table.items():
            home = getattr(function, "spec", None) or function.__module__  # IPython has not imported all of them yet
            if home.startswith(("IPython.core.magics.script", "IPython.core.magics.packaging")):
                found.append((kind, name, home.startswith("IPython.core.magics.packaging")))
    return found


def install(shell: Any, commands: ShellCommands, names: list[tuple[str, str, bool]]) -> None:
    """Takes the place of IPython's own ones. Their imports happen when one is used."""
    scripts = Scripts(shell, commands)
    packages = Packages(shell, commands)
    for kind, name, is_package_manager in names:
        magic = packages.magic(name) if is_package_manager else scripts.magic(name)
        shell.register_magic_function(magic, kind, name)


class Scripts:
    """``%%script``, and the cell magics that are called like a program."""

    def __init__(self, shell: Any, commands: ShellCommands) -> None:
        self.shell = shell
        self.commands = commands
        self.background: list[Program] = []

    def magic(self, name: str) -> Callable[..., None]:
        """The magic of a name."""
        if name == "killbgscripts":
            return self.end_background
        if name == "script":
            return self.run

        def script(line: str, cell: str) -> None:
            self.run(f"{name} {line}", cell)

        script.__doc__ = f"Runs a cell with {name}. It takes the options of %%script, and then those of {name}."
        return script

    def run(self, line: str, cell: str) -> None:
        """Runs a cell with the program that the line names.

        ``--out VAR`` and ``--err VAR`` store its output, ``--no-raise-error`` lets it fail, ``--bg`` lets it run beside
        the cells: then ``VAR`` is a pipe, and ``--proc VAR`` stores the program.
        """
        from IPython.core.magics.script import ScriptMagics

        options, argv = ScriptMagics.shebang.parser.parse_known_args(line_words(line))
        if not argv:
            from IPython.core.error import UsageError

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
        output = hints.Output()
        stdout = output.to(kept[options.out].append if options.out else sys.stdout.write)
        stderr = output.to(kept[options.err].append if options.err else sys.stderr.write)
        self.commands.streams.flush()
        try:
            code = self.programs.run(argv, "shell_magic", stdout, stderr, body)
            print(hints.of_command(body.decode(errors="replace"), code, output), end="", file=sys.stderr)
            return code
        finally:
            self.commands.streams.flush()
            self.shell.user_ns.update({name: "".join(texts) for name, texts in kept.items()})

    def start(self, argv: list[str], body: bytes, options: Any) -> None:
        """Starts a program that runs beside the cells."""
        program = self.programs.start(argv, "shell_magic", body)
        program.background(keep_stdout=bool(options.out), keep_stderr=bool(options.err))
        self.background = [*(other for other in self.background if other.returncode is None), program]
        names = {options.out: program.stdout, options.err: program.stderr, options.proc: program}
        self.shell.user_ns.update({name: value for name, value in names.items() if name})

    def end_background(self, line: str = "") -> None:
        """Ends all programs that were started with ``--bg``."""
        for program in self.background:
            program.terminate()
        for program in self.background:
            program.wait()
        self.background.clear()
        print("All background processes were killed.")

    @property
    def programs(self) -> Programs:
        assert self.commands.programs
        return self.commands.programs


class Packages:
    """``%pip`` and the other package managers, as IPython calls them."""

    def __init__(self, shell: Any, commands: ShellCommands) -> None:
        self.commands = commands
        # All that they want of a shell is that it runs a command. Their line has been expanded already.
        self.shell = SimpleNamespace(system=lambda command: commands.show(command, "package"), kernel=shell.kernel)

    def magic(self, name: str) -> Callable[[str], None]:
        """The magic of a name."""

        def package(line: str) -> None:
            if name == "pip" and packages.layer and (words := line_words(line))[:1] == ["install"]:
                return self.install(words)
            from IPython.core.magics.packaging import PackagingMagics

            getattr(PackagingMagics(self.shell), name)(line)

        package.__doc__ = f"Runs {name} for the environment of this kernel."
        return package

    def install(self, words: list[str]) -> None:
        """Has the host install packages into the layer, from which they can be imported at once."""
        self.commands.install(["pip", *words])
        importlib.invalidate_caches()


def line_words(line: str) -> list[str]:
    """The words of a line, as a shell would part them."""
    from IPython.utils.process import arg_split

    words: list[str] = arg_split(line, posix=True)
    return words
