"""What a compiler takes for a program that includes the library, and for one that calls it: CPU seconds and memory."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INCLUDE = Path(__file__).resolve().parents[1] / "include"
FLAVOURS = {"header_only": [], "compiled": ["-DIPYBOX_SEPARATE_COMPILATION"]}
PROGRAMS = {
    "include": "#include <ipybox/executor.hpp>\nint main() {}\n",
    "first_call": '#include <ipybox/executor.hpp>\nint main() { return ipybox::executor().execute("1+1") ? 0 : 1; }\n',
    "umbrella": "#include <ipybox/ipybox.hpp>\nint main() {}\n",
    "everything": '#include <ipybox/ipybox.hpp>\nint main() { return ipybox::executor().execute("1+1") ? 0 : 1; }\n',
    "library": "#include <ipybox/src.hpp>\n",
    "json": '#include <nlohmann/json.hpp>\nint main() { return nlohmann::json::parse("1").get<int>(); }\n',
}
#: What is compiled: program and flavour. `json` says how fast the machine is.
CASES = {
    "compile_json": ("json", "compiled"),
    **{
        f"compile_{program}_{flavour}": (program, flavour)
        for flavour in FLAVOURS
        for program in ("include", "first_call")
    },
    "compile_umbrella_compiled": ("umbrella", "compiled"),
    "compile_everything_header_only": ("everything", "header_only"),
    "compile_library": ("library", "compiled"),
}
OF_JSON = {name: f"{name}_of_json" for name in CASES if name != "compile_json"}
MEMORY = {name: f"{name}_memory" for name in OF_JSON}
METRICS = (*CASES, *OF_JSON.values(), *MEMORY.values())


@dataclass(frozen=True)
class Cost:
    """What one run of the compiler took, and the programs that it started."""

    seconds: float  #: of the processor
    megabytes: float  #: the most that one of them had


def compile_cost(name: str, compiler: str = "g++") -> Cost:
    program, flavour = CASES[name]
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(PROGRAMS[program])
        source.flush()
        options = ["-std=c++20", "-O0", *FLAVOURS[flavour], f"-I{INCLUDE}", "-c", "-o", os.devnull, source.name]
        child = os.posix_spawnp(compiler, [compiler, *options], os.environ | {"CCACHE_DISABLE": "1"})
        _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise RuntimeError(f"{compiler} failed: {program}, {flavour}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def measure(repeat: int) -> dict[str, dict[str, Any]]:
    units = (
        dict.fromkeys(METRICS, "s") | dict.fromkeys(OF_JSON.values(), "times") | dict.fromkeys(MEMORY.values(), "MB")
    )
    samples: dict[str, list[float]] = {name: [] for name in METRICS}
    for _ in range(repeat):
        pace = compile_cost("compile_json")
        samples["compile_json"].append(pace.seconds)
        for name in OF_JSON:
            cost = compile_cost(name)
            samples[name].append(cost.seconds)
            samples[OF_JSON[name]].append(cost.seconds / pace.seconds)
            samples[MEMORY[name]].append(cost.megabytes)
    note = "g++ -std=c++20 -O0"
    return {name: {"unit": units[name], "samples": values, "note": note} for name, values in samples.items()}
