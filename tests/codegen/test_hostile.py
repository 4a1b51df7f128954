"""Whatever a server writes into its tools, the modules have the same few forms: seen by Python's own parser."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from hostile import PLACES, TEXTS
from packages import Packages

MODULES = {"__future__", "typing", "pydantic", "", "_mcp", "_schema"}
NAMES = {
    "annotations", "Annotated", "Any", "Literal", "Field", "CLIENT", "Model", "UNSET", "to_result", "to_text", "Schema",
    "rule", "schema_of", "tool", "unwrapped",
}  # fmt: skip
CALLED = {"Field", "Schema", "rule", "schema_of", "_params", "_result", "to_result", "to_text", "unwrapped", "Params"}
CALLED_MEMBERS = {"CLIENT.run_sync", "CLIENT.run", "params.to_arguments"}


def escapes(text: str) -> Iterator[str]:
    """What in a module is not of the forms that modules have."""
    for character in text:
        if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs"):
            yield f"the character U+{ord(character):04X}"
    tree = ast.parse(text)
    for statement in tree.body:
        yield from unknown_statement(statement)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from unknown_call(node)
        elif isinstance(node, ast.Attribute):
            if ast.unparse(node) not in CALLED_MEMBERS and node.attr != "model_rebuild":
                yield f"the member {ast.unparse(node)}"
        elif isinstance(node, ast.Name):
            if node.id.startswith("__") and node.id != "__pydantic_extra__":
                yield f"the name {node.id}"
        elif isinstance(node, (ast.Lambda, ast.comprehension, ast.Starred, ast.JoinedStr, ast.NamedExpr, ast.Yield)):
            yield f"a {type(node).__name__}"


def unknown_statement(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.ImportFrom):
        names = {alias.name for alias in statement.names}
        if (statement.module or "") not in MODULES or names - NAMES or any(alias.asname for alias in statement.names):
            yield ast.unparse(statement)
    elif isinstance(statement, ast.ClassDef):
        yield from unknown_class(statement)
    elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        doc, returned = statement.body
        if [ast.unparse(decorator) for decorator in statement.decorator_list] != ["tool"]:
            yield f"the decorators of {statement.name}"
        if statement.name not in ("run", "arun") or not is_text(doc) or not isinstance(returned, ast.Return):
            yield f"the function {statement.name}"
    elif isinstance(statement, ast.Assign):
        if [ast.unparse(target) for target in statement.targets] not in (["_params"], ["_result"], ["Result"]):
            yield ast.unparse(statement)
    elif not (isinstance(statement, ast.Expr) and ast.unparse(statement).endswith(".model_rebuild()")):
        yield ast.unparse(statement)


def unknown_class(statement: ast.ClassDef) -> Iterator[str]:
    if [ast.unparse(base) for base in statement.bases] != ["Model"]:
        yield f"the bases of {statement.name}"
    if [(word.arg, ast.unparse(word.value)) for word in statement.keywords] not in (
        [],
        [("extra", "'forbid'")],
        [("more", "True")],
    ):
        yield f"the keywords of {statement.name}"
    for decorator in statement.decorator_list:
        if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "rule"):
            yield f"the decorators of {statement.name}"
    for member in statement.body:
        if not (isinstance(member, (ast.AnnAssign, ast.Pass)) or is_text(member)):
            yield ast.unparse(member)


def unknown_call(call: ast.Call) -> Iterator[str]:
    called = ast.unparse(call.func)
    if called not in CALLED | CALLED_MEMBERS and not called.endswith(".model_rebuild"):
        yield f"a call of {called}"
    if any(word.arg is None for word in call.keywords):
        yield f"keywords of {called}"


def is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def test_the_rules_see_what_escapes() -> None:
    for text in (
        "import os",
        "from os import path",
        "from . import other",
        "class A(Model): x = 1",
        "class A(B): pass",
        "class A(Model, metaclass=x): pass",
        "def run(params):\n    'x'\n    import os",
        "x = 1",
        "Params.x.y()",
        "class A(Model):\n    x: eval('1')",
        "class A(Model):\n    'a\u202eb'",
        "@decorated\nclass A(Model): pass",
        "@tool\n@other\ndef run(params):\n    'x'\n    return to_text(CLIENT.run_sync('x', params.to_arguments()))",
    ):
        assert list(escapes(text)), text


@pytest.mark.timeout(600)
def test_no_text_becomes_code(packages: Packages) -> None:
    assert len(TEXTS) >= 64
    assert len(PLACES) == 19
    found: list[str] = []
    modules = 0
    requests = []
    for number, make in enumerate(PLACES.values()):
        # a package for each text where it names the tool, else one for all
        tools = [make(text) for text in TEXTS]
        for index, tool in enumerate(tools):
            if tool["name"] == "tool":
                tool["name"] = f"tool{index}"
        requests.append({"server": f"p{number}", "tools": unique(tools)})
    answers = packages.generate(*requests)
    for (place, _), number, answer in zip(PLACES.items(), range(len(PLACES)), answers, strict=True):
        for module in answer["modules"]:
            text = (packages.root / f"p{number}" / f"{module}.py").read_text(encoding="utf-8")
            modules += 1
            found += [f"{place}: {module}: {problem}" for problem in escapes(text)]
            try:
                packages.module(f"p{number}.{module}")
            except Exception as error:
                found.append(f"{place}: {module}: {type(error).__name__}: {error}")
    print(f"\nscore: hostile texts: {modules} modules parsed and imported, {len(found)} escapes")
    assert not found, "\n".join(found[:30])
    assert modules >= 1216


def unique(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({tool["name"]: tool for tool in tools}.values())


def test_the_index_quotes_what_servers_write(packages: Packages) -> None:
    tools = [
        {"name": text, "title": text, "description": text, "inputSchema": {"type": "object", "required": [text]}}
        for text in dict.fromkeys(TEXTS)
    ]
    packages.generate({"server": "server", "tools": tools})
    text = (packages.root / "server" / "__init__.py").read_text(encoding="utf-8")
    doc, imported, client = ast.parse(text).body
    assert is_text(doc)
    assert ast.unparse(imported) == "from ._client import package"
    assert ast.unparse(client) == "CLIENT, __getattr__, __dir__ = package(__name__, 'server')"
    assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
    module = packages.module("server")
    assert module.CLIENT.server_name == "server"


def test_no_reference_leads_out_of_the_schema(packages: Packages, tmp_path: Any) -> None:
    """The original reads files that a server names, and writes what they hold into a module."""
    secret = tmp_path / "secret.json"
    secret.write_text('{"type": "object", "properties": {"stolen": {"type": "string"}}}', encoding="utf-8")
    for reference in (
        str(secret),
        f"file://{secret}",
        "../secret.json",
        f"{secret}#/properties",
        "http://127.0.0.1:9/x",
    ):
        module = packages.tool({"type": "object", "properties": {"a": {"$ref": reference}, "b": {}}})
        assert "stolen" not in packages.text()
        assert module.Params(a=5).to_arguments() == {"a": 5}
        forget(packages)


def forget(packages: Packages) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith(f"{packages.name}.")]:
        del sys.modules[name]
