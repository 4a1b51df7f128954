"""What of the library the linker would find in two object files that include it: defined_once.py NM OBJECT…

A function that is not inline, and a variable likewise, is a strong symbol, of which a program may have one.
"""

from __future__ import annotations

import re
import subprocess
import sys

_symbol = re.compile(r"^[0-9a-f]+ (?P<kind>\w) (?P<name>.*)$", re.MULTILINE)
_ours = re.compile(r"[^(]*\bipybox::(?!test::)")  # before the parameters


def main(nm: str, *objects: str) -> int:
    listed = subprocess.run([nm, "--defined-only", "--demangle", *objects], capture_output=True, text=True, check=True)
    ours = [symbol for symbol in _symbol.finditer(listed.stdout) if _ours.match(symbol["name"])]
    weak = [symbol for symbol in ours if symbol["kind"] in "WVu"]
    strong = [symbol["name"] for symbol in ours if symbol["kind"] in "TDBRC"]
    for name in strong:
        print(f"defined in every file that includes it: {name}")
    if len(weak) < 1000:
        print(f"only {len(weak)} functions of the library are in {', '.join(objects)}")
    print(f"{len(weak)} functions and variables of the library may be defined more than once, {len(strong)} may not")
    return 1 if strong or len(weak) < 1000 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
