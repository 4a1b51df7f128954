"""Files that include the library compile within their budgets: benchmarks/results/compile_budgets.json, with GCC 12.

A budget is a share of what a file takes that includes nlohmann/json and parses a value, and an amount of memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tree import REPOSITORY, finish

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
from compile_cost import Cost, compile_cost

BUDGETS = REPOSITORY / "benchmarks/results/compile_budgets.json"
TRIES = 3  # the processor may be slower for one of two compilers


def problem(name: str, cost: Cost, pace: Cost, budget: dict[str, float]) -> str:
    """The sentence about a file that takes too much, or an empty one."""
    share = cost.seconds / pace.seconds
    if share <= budget["of_json"] and cost.megabytes <= budget["megabytes"]:
        return ""
    return (
        f"{name}: {share:.2f} times as long as JSON, {cost.megabytes:.0f} MB; at most {budget['of_json']} and "
        f"{budget['megabytes']} MB. Include less, or change {BUDGETS.name} on purpose"
    )


def check(name: str, budget: dict[str, float]) -> str:
    """Within the budget once is within it: nothing is quicker than it is."""
    found = ""
    for _ in range(TRIES):
        found = problem(name, compile_cost(name), compile_cost("compile_json"), budget)
        if not found:
            break
    return found


def main() -> int:
    asked: dict[str, Any] = json.loads(BUDGETS.read_text(encoding="utf-8"))
    version = subprocess.run(["g++", "-dumpversion"], check=True, capture_output=True, text=True).stdout.strip()
    if version != asked["compiler"]:
        return finish([], f"the budgets are those of GCC {asked['compiler']}, this is {version}")
    found = [check(name, budget) for name, budget in asked["budgets"].items()]
    return finish([text for text in found if text], f"{len(found)} files compile within their budgets")


if __name__ == "__main__":
    sys.exit(main())
