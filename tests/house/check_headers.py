"""What every header keeps to: what it must not include, and where its bodies are."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tree import INCLUDE, Tree, finish, read_tree

#: In no header at all: each costs every user, and a narrower include does the same.
NOWHERE = {"iostream", "regex", "asio.hpp", "bits/stdc++.h"}

#: Its files stay open in programs that another thread of the application starts. os/read_file.hpp and os/new_file.hpp
#: take its place.
HANDED_ON = "fstream"

#: The front door and, with it, every header that it reaches: including it must stay cheap.
FRONT = ["executor.hpp", "execution.hpp", "runtime.hpp", "fwd.hpp", "version.hpp"]
NOT_IN_FRONT = {"nlohmann/json.hpp", "zmq.hpp", "openssl/evp.h", "openssl/hmac.h", "asio/io_context.hpp"}

GENERATED = {"codegen/support_source.hpp", "kernel/runtime_source.hpp"}


def reached(tree: Tree, start: list[str]) -> dict[str, str]:
    """Headers that `start` includes, without those that only bodies include: header -> who includes it."""
    found = {name: "" for name in start if name in tree.own}
    queue = list(found)
    while queue:
        name = queue.pop(0)
        for other in tree.own[name]:
            if other.endswith(".hpp") and other in tree.own and other not in found:
                found[other] = name
                queue.append(other)
    return found


def heavy_includes(tree: Tree) -> list[str]:
    problems = [
        f"{name}: includes <{other}>, which no header may"
        for name in tree.files(".hpp")
        for other in tree.foreign[name]
        if other in NOWHERE
    ]
    problems += [f"{name}: includes <{HANDED_ON}>" for name in tree.files() if HANDED_ON in tree.foreign[name]]
    for name, via in reached(tree, FRONT).items():
        for other in tree.foreign[name]:
            if other in NOT_IN_FRONT:
                problems.append(f"{name}: includes <{other}>, but belongs to the front (through {via or 'itself'})")
    return problems


def bodies_left_out(tree: Tree) -> list[str]:
    """Each body has to be in src.hpp, else the compiled flavour lacks it."""
    if "src.hpp" not in tree.own:
        return ["src.hpp does not exist"]
    return [f"src.hpp: lacks ipybox/{name}" for name in tree.files(".ipp") if name not in tree.own["src.hpp"]]


def undeclared_bodies(include: Path, tree: Tree) -> list[str]:
    """`IPYBOX_DECL` stands before what a header declares; a free function of one body alone is `inline`."""
    texts = {name: (include / "ipybox" / name).read_text(encoding="utf-8") for name in tree.files()}
    declared = set(re.findall(r"\b(\w+)\(", "\n".join(t for name, t in texts.items() if name.endswith(".hpp"))))
    return [
        f"{name}: {function} is declared in no header: write `inline` for IPYBOX_DECL"
        for name, text in texts.items()
        if name.endswith(".ipp")
        for before, function in re.findall(r"^IPYBOX_DECL ([^;{}(]*?)\b(\w+)\(", text, re.MULTILINE)
        if before.strip() and not before.endswith("::") and function not in declared
    ]


def text_rules(include: Path, tree: Tree) -> list[str]:
    problems = []
    for name in tree.files():
        text = (include / "ipybox" / name).read_text(encoding="utf-8")
        if not re.search(r"^#pragma once$", text, re.MULTILINE):
            problems.append(f"{name}: no '#pragma once'")
        if name not in GENERATED and re.search(r"^using namespace", text, re.MULTILINE):
            problems.append(f"{name}: 'using namespace' in a header")
        if name not in GENERATED and re.search(r'^\s*#\s*include\s*"', text, re.MULTILINE):
            problems.append(f'{name}: #include "…"; use <…> with the full path')
    return problems


#: A variable of a function that stays: `static TYPE name` and what follows it. Functions of classes have a `(` there.
STATIC = re.compile(
    r"^ {4,}static (?!constexpr\b|constinit\b|inline\b)([\w:<>,&* ]+?[\w>&*]) (\w+)( =|;|\{)(?=(.*\n?.*))", re.MULTILINE
)

#: Types without a destructor that does anything, and the one whose destructor is what it is for.
KEPT = re.compile(
    r"std::atomic<|std::optional<std::uint64_t>|http_parser_settings|system_access const|end_of_program const|.*[&*]$|"
    r"auto\*? ?const&?$"
)


def destroyed_statics(include: Path, tree: Tree) -> list[str]:
    """Static objects of functions are used until the program has ended: core/never_destroyed.hpp."""
    problems = []
    for name in tree.files():
        if name in GENERATED:
            continue
        text = (include / "ipybox" / name).read_text(encoding="utf-8")
        for kind, variable, _, value in STATIC.findall(text):
            made = "never_destroyed<" in value or value.lstrip().startswith("*new ") or "new " in value
            if not KEPT.match(kind) or (kind.startswith("auto") and not made):
                problems.append(f"{name}: the static object {variable} is destroyed: use never_destroyed")
    return problems


def main() -> int:
    tree = read_tree()
    problems = heavy_includes(tree) + bodies_left_out(tree)
    problems += undeclared_bodies(INCLUDE, tree) + text_rules(INCLUDE, tree) + destroyed_statics(INCLUDE, tree)
    return finish(problems, f"{len(tree.files('.hpp'))} headers are in order")


if __name__ == "__main__":
    sys.exit(main())
