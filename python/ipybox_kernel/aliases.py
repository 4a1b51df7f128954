"""The original's names of ``ipybox_kernel.tools``, for code that was written for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NoReturn

PACKAGES = ("mcpygen", "mcpygen.tool_exec", "mcpygen.tool_exec.approval")
MODULES = ("mcpygen.tool_exec.client", "mcpygen.tool_exec.approval.client")


class Aliases:
    """Importer of these names."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name not in PACKAGES + MODULES:
            return None
        spec = ModuleSpec(name, self, is_package=name in PACKAGES)  # type: ignore[arg-type]
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations += installed(name, path)
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """An ordinary one."""

    def exec_module(self, module: ModuleType) -> None:
        from ipybox_kernel import tools

        vars(module).update({name: getattr(tools, name) for name in tools.__all__})
        if module.__name__ in MODULES:
            vars(module)["__getattr__"] = refuse


def installed(package: str, path: Sequence[str] | None) -> list[str]:
    """The places of the original's other modules, if it is installed. Its own packages would import its clients."""
    original = PathFinder.find_spec(package, path)
    return list(original.submodule_search_locations or []) if original else []


def refuse(name: str) -> Any:
    """Says what is to be done about a name of the original that has no counterpart."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise_missing(name)


def raise_missing(name: str) -> NoReturn:
    raise ImportError(
        f"mcpygen's {name} does not exist in this kernel: the host reaches the servers and asks by itself. "
        "ToolRunner(server_name).run_sync(tool_name, arguments) calls a tool."
    )


def install() -> None:
    """Makes them importable. Calls go through the host also where mcpygen is installed."""
    for name in PACKAGES + MODULES:
        sys.modules.pop(name, None)  # of a module that was preloaded
    sys.meta_path.insert(0, Aliases())  # type: ignore[arg-type]
