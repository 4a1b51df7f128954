"""The embedded Python compiles on the interpreter that runs this, and each module fits into a string literal."""

from __future__ import annotations

import sys

from tree import REPOSITORY, finish

SOURCES = [REPOSITORY / "python" / "ipybox_kernel", REPOSITORY / "python" / "mcp_support"]
LITERAL_LIMIT = 65535


def main() -> int:
    problems = []
    files = [file for folder in SOURCES for file in sorted(folder.glob("*.py"))]
    for folder in SOURCES:
        if not any(file.parent == folder for file in files):
            problems.append(f"no module in {folder.relative_to(REPOSITORY)}")
    for file in files:
        source = file.read_bytes()
        try:
            compile(source, str(file), "exec", dont_inherit=True)
        except SyntaxError as error:
            problems.append(f"{file.name}:{error.lineno}: {error.msg}")
        if len(source) > LITERAL_LIMIT:
            problems.append(f"{file.name}: {len(source)} bytes, a string literal has at most {LITERAL_LIMIT}")
        if b')py"' in source:
            problems.append(f'{file.name}: contains )py", which ends the literal it is put in')
    return finish(problems, f"{len(files)} modules compile on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    sys.exit(main())
