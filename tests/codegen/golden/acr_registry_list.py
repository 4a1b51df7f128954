from __future__ import annotations

from pydantic import Field

from . import CLIENT
from ._mcp import Model, UNSET, to_text, tool


class Params(Model, extra="forbid"):
    tenant: str = UNSET
    """Tenant ID or name"""
    auth_method: str = Field("0", alias="auth-method")
    """How to sign in"""
    retry_max_retries: int = Field(3, alias="retry-max-retries", ge=0)
    resource_group: str = Field(UNSET, alias="resource-group")


@tool
def run(params: Params = Params()) -> str:
    """List registries

    in a subscription.
    Says "how many" at the end.

    Read-only. Idempotent.
    """
    return to_text(CLIENT.run_sync("acr-registry-list", params.to_arguments()))


@tool
async def arun(params: Params = Params()) -> str:
    """run() for await: calls run beside each other."""
    return to_text(await CLIENT.run("acr-registry-list", params.to_arguments()))
