"""Writes the base filter of python/ipybox_kernel/filters.py as C++, into FILE; --check FILE compares."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "python"))

from ipybox_kernel import filters  # noqa: E402  # found by the line above

HEAD = """#pragma once

// Written by tools/write_filter_blocks.py (./dev embed) from python/ipybox_kernel/filters.py: change it there.

#include <cstdint>
#include <span>
#include <string_view>

namespace ipybox::detail {

/// One instruction of classic BPF, as the kernel takes it (struct sock_filter).
struct filter_step {
    std::uint16_t code;
    std::uint8_t yes;
    std::uint8_t no;
    std::uint32_t value;
};

/// A part of the base filter. Those that have the name of a system_access are left out where it is allowed.
struct filter_block {
    std::string_view name;
    std::span<filter_step const> steps;
};

// clang-format off
"""
TAIL = """// clang-format on

} // namespace ipybox::detail
"""


def header() -> str:
    """The whole file."""
    text = HEAD
    for name, machine in filters.MACHINES.items():
        blocks = filters.base_blocks(machine)
        for block, steps in blocks.items():
            rows = ",\n".join(f"    {{{s.code:#04x}, {s.yes}, {s.no}, {s.value:#010x}}}" for s in steps)
            text += f"inline constexpr filter_step {identifier(block, name)}[] = {{\n{rows}}};\n"
        rows = ",\n".join(f'    {{"{block}", {identifier(block, name)}}}' for block in blocks)
        text += f"inline constexpr filter_block filter_of_{name}[] = {{\n{rows}}};\n\n"
    return text + TAIL


def identifier(block: str, machine: str) -> str:
    return f"filter_{block.replace('-', '_')}_{machine}"


def main(arguments: list[str]) -> int:
    if not arguments:
        sys.stdout.write(header())
        return 0
    file = Path(arguments[-1])
    current = file.read_text() if file.exists() else ""
    if arguments[0] != "--check":
        if current != header():
            file.write_text(header())
    elif current != header():
        sys.stderr.write(f"{file} is stale: run ./dev embed and commit it\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
