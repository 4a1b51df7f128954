"""How long a compiler needs for a program that includes the library, and for one that calls it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

INCLUDE = Path(__file__).resolve().parents[1] / "include"
FLAVOURS = {"header_only": [], "compiled": ["-DIPYBOX_SEPARATE_COMPILATION"]}
PROGRAMS = {
    "include": "#include <ipybox/executor.hpp>\nint main() {}\n",
    "first_call": '#include <ipybox/executor.hpp>\nint main() { return ipybox::executor().execute("1+1") ? 0 : 1; }\n',
}
METRICS = tuple(f"compile_{program}_{flavour}" for flavour in FLAVOURS for program in PROGRAMS)


def compile_seconds(program: str, flavour: str, compiler: str = "g++") -> float:
    command = [compiler, "-std=c++20", "-O0", *FLAVOURS[flavour], f"-I{INCLUDE}", "-c", "-o", os.devnull, "-x", "c++"]
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(PROGRAMS[program])
        source.flush()
        begin = time.perf_counter()
        subprocess.run([*command, source.name], check=True, env=os.environ | {"CCACHE_DISABLE": "1"})
        return time.perf_counter() - begin


def measure(repeat: int) -> dict[str, dict[str, Any]]:
    samples: dict[str, list[float]] = {name: [] for name in METRICS}
    for _ in range(repeat):
        for flavour in FLAVOURS:
            for program in PROGRAMS:
                samples[f"compile_{program}_{flavour}"].append(compile_seconds(program, flavour))
    return {name: {"unit": "s", "samples": times, "note": "g++ -std=c++20 -O0"} for name, times in samples.items()}
