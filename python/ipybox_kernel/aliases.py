"""The original's names of ``ipybox_kernel.tools``, for code that was written for it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGES = ("mcpygen", "mcpygen.tool_exec", "mcpygen.tool_exec.approval")
MODULES = ("mcpygen.tool_exec.client", "mcpygen.tool_exec.approval.client")


class Aliases:
    """Importer that is asked when nobody else knows ``mcpygen``: when it is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in PACKAGES + MODULES:
            return None
        top: Any = sys.modules.get("mcpygen")
        if top and getattr(top.__spec__, "loader", None) is not self:
            return None
        return ModuleSpec(name, self, is_package=name in PACKAGES)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """An ordinary one."""

    def exec_module(self, module: ModuleType) -> None:
        from ipybox_kernel import tools

        vars(module).update({name: getattr(tools, name) for name in tools.__all__})


def install() -> None:
    """Makes them importable."""
    sys.meta_path.append(Aliases())  # type: ignore[arg-type]
