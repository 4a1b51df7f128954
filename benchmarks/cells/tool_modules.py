# How many modules of the generated package `many` can be imported.
import importlib
import json
import pathlib


def imports(name):
    try:
        importlib.import_module(name)
    except Exception:
        return False
    return True


modules = [file.stem for file in pathlib.Path("mcptools/many").glob("*.py") if not file.stem.startswith("_")]
pathlib.Path("samples").write_text(json.dumps([sum(imports(f"mcptools.many.{name}") for name in modules)]))
