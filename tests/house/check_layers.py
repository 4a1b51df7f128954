"""Folders form a DAG, written down here: includes go down only, and never in a circle."""

from __future__ import annotations

import sys

from tree import Tree, finish, read_tree, room

GROUND = {"core", "async", "os"}
FLOOR_1 = {
    "jupyter",
    "rules",
    "approval",
    "gate",
    "sandbox",
    "mcp",
    "http",
    "execution",
    "kernel",
    "transport",
    "action",
    "codegen",
    "network",
    "packages",
    "tools",
}

#: What each room may include beside itself. The root ("") holds the front door.
ALLOWED: dict[str, set[str]] = {
    # the ground
    "core": set(),
    "async": {"core"},
    "os": {"core", "async"},
    # floor 1: quiet rooms (policies, protocols, vocabulary), then working rooms
    "jupyter": GROUND,
    "rules": GROUND - {"async"},
    "approval": GROUND | {"rules"},
    "gate": GROUND | {"rules", "approval"},
    "sandbox": GROUND,
    "mcp": GROUND | {"sandbox"},
    "http": GROUND | {"mcp", "sandbox"},
    "execution": GROUND | {"jupyter", "approval", "rules"},
    "kernel": GROUND | {"jupyter"},
    "transport": GROUND | {"jupyter", "kernel"},
    "action": GROUND | {"mcp", "rules", "approval", "gate"},
    "codegen": GROUND | {"mcp"},
    "tools": GROUND | {"mcp"},
    "network": GROUND | {"rules", "approval", "gate", "sandbox"},
    "packages": GROUND | {"sandbox", "network", "rules", "approval", "jupyter", "kernel"},
    # what the front door stands on: the kernel and its queue, which know no service; the services beside it
    "session": GROUND
    | {"jupyter", "rules", "approval", "execution", "kernel", "transport"}
    | {"mcp", "codegen"},  # of these the JSON text and the Python text of values
    "services": GROUND | FLOOR_1 | {"session"},
    # floor 2 and 3
    "": GROUND | FLOOR_1 | {"session", "services"},
    "app": GROUND | FLOOR_1 | {"session", "services", ""},
    "adapters": GROUND | FLOOR_1 | {"session", "services", ""},
}

#: Files of the root that are ground: they include nothing.
GROUND_FILES = {"version.hpp", "fwd.hpp"}

#: Headers that only include others, for users: no step of a way down.
UMBRELLAS = {"ipybox.hpp", "src.hpp", "approval.hpp", "codegen.hpp", "execution.hpp", "http.hpp", "mcp.hpp"}
UMBRELLAS |= {"packages.hpp", "sandbox.hpp", "tools.hpp", "transport.hpp"}

#: The longest way down through headers; more is a sign of layers that only pass things on.
LONGEST_CHAIN = 8


def wrong_edges(tree: Tree, allowed: dict[str, set[str]] = ALLOWED) -> list[str]:
    problems = []
    for name, included in tree.own.items():
        here = room(name)
        if here not in allowed:
            problems.append(f"{name}: the room '{here}' is not in the table ALLOWED of tests/house/check_layers.py")
            continue
        for other in included:
            if other not in tree.own:
                problems.append(f"{name}: includes ipybox/{other}, which does not exist")
            elif room(other) not in allowed[here] | {here} and other not in GROUND_FILES and name != "src.hpp":
                problems.append(
                    f"{name}: '{here or 'root'}' may not include '{room(other) or 'root'}' (ipybox/{other})"
                )
    return problems


def graph(tree: Tree, suffix: str = "") -> dict[str, set[str]]:
    """Nodes are headers, each together with its own body; with suffix ".hpp" the bodies are left out.

    A private header (`impl/x.hpp`) that a body includes, and that needs the body's own header, is a part of that body.
    """
    edges: dict[str, set[str]] = {tree.node(name): set() for name in tree.files(suffix)}
    for name in tree.files(suffix):
        included = [other for other in tree.own[name] if other in tree.own and other.endswith(suffix)]
        targets = {tree.node(other) for other in included if not is_part_of(tree, other, name)}
        edges[tree.node(name)] |= targets - {tree.node(name)}
    return edges


def is_private(name: str) -> bool:
    return "impl/" in name and name.endswith(".hpp")


def is_part_of(tree: Tree, name: str, body: str) -> bool:
    return is_private(name) and body.endswith(".ipp") and tree.node(body) in tree.own[name]


def private_headers(tree: Tree) -> list[str]:
    """A private header is for the bodies and other private headers of its room."""
    return [
        f"{name}: includes the private header ipybox/{other}"
        for name in tree.files()
        for other in tree.own[name]
        if is_private(other) and not ("impl/" in name and room(name) == room(other))
    ]


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one node (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(edges.get(name, ())):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            position = stack.index(name)
            component = stack[position:]
            del stack[position:]
            if len(component) > 1:
                found.append(sorted(component))

    for name in sorted(edges):
        if name not in index:
            visit(name)
    return found


def longest_chain(edges: dict[str, set[str]]) -> list[str]:
    """The longest way down; the graph must have no cycle."""
    best: dict[str, list[str]] = {}

    def chain(name: str) -> list[str]:
        if name not in best:
            below = [chain(other) for other in sorted(edges[name])]
            best[name] = [name, *max(below, key=len, default=[])]
        return best[name]

    return max((chain(name) for name in sorted(edges)), key=len, default=[])


def main() -> int:
    tree = read_tree()
    problems = wrong_edges(tree) + private_headers(tree)
    circles = cycles(graph(tree))
    problems += ["a circle of includes: " + ", ".join(circle) for circle in circles]
    if not circles:
        chain = longest_chain({n: e for n, e in graph(tree, ".hpp").items() if n not in UMBRELLAS})
        print(f"longest chain ({len(chain)}): " + " > ".join(chain))
        if len(chain) > LONGEST_CHAIN:
            problems.append(f"the longest chain has more than {LONGEST_CHAIN} headers")
    return finish(problems, f"{len(tree.own)} files: every include goes down")


if __name__ == "__main__":
    sys.exit(main())
