"""Caches of libraries: where they are written to, what of the user's can be read, and what is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from mcp_client import Clients
from program import Program

#: Writes what libraries write, and says where.
WRITE = """
import os, pathlib
home = pathlib.Path.home()
for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "NUMBA_CACHE_DIR", "NLTK_DATA",
             "SCIKIT_LEARN_DATA", "KERAS_HOME", "EASYOCR_MODULE_PATH"):
    place = pathlib.Path(os.environ[name]) / "probe"
    place.mkdir(parents=True, exist_ok=True)
    (place / "file").write_text("x")
hub = pathlib.Path(os.environ["XDG_CACHE_HOME"], "huggingface/hub")
hub.mkdir(parents=True, exist_ok=True)
(hub / "new").write_text("fetched")
print(sorted(p.name for p in hub.iterdir()), (hub / "old/file").read_text() if (hub / "old/file").exists() else "")
print(os.environ["XDG_CACHE_HOME"])
"""

#: Opens the home directory of the test for reading.
CONFIGURED = ("--sandbox-config", "../sandbox.json")

READ = "import os, pathlib; print(pathlib.Path(os.environ['XDG_CACHE_HOME'], 'huggingface/hub/new').exists())"


@pytest.fixture
def home(program: Program) -> Path:
    """A home directory with models, in which the code cannot write."""
    place = program.directory / "home"
    (place / ".cache/huggingface/hub/old").mkdir(parents=True)
    (place / ".cache/huggingface/hub/old/file").write_text("a model")
    program.env |= {"HOME": str(place), "XDG_STATE_HOME": str(program.directory / "state")}
    # Temporary directories are private in sandboxes: it is opened as others are anyway.
    files = {"allowRead": [str(place)], "allowWrite": ["."]}
    (program.directory / "sandbox.json").write_text(json.dumps({"filesystem": files}))
    program.directory /= "work"
    program.directory.mkdir()
    return place


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_code_has_a_private_place_that_is_gone_at_the_end(program: Program, home: Path, sandbox: str) -> None:
    program.sandbox = sandbox
    ended = program.run(*CONFIGURED, "-c", WRITE)
    assert ended.code == 0, ended.err
    found, place = ended.out.splitlines()
    assert found == "['new', 'old'] a model"
    assert not os.path.lexists(place)
    assert list((home / ".cache/huggingface/hub").iterdir()) == [home / ".cache/huggingface/hub/old"]
    assert program.run(*CONFIGURED, "-c", READ).out == "False\n"


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock", "none"])
def test_a_place_that_is_kept(program: Program, home: Path, sandbox: str) -> None:
    program.sandbox = sandbox
    options = ("--cache", str(program.directory.parent / "caches"))
    assert program.run(*options, "-c", WRITE).code == 0
    assert (program.directory.parent / "caches/cache/huggingface/hub/new").read_text() == "fetched"
    assert (program.directory.parent / "caches/CACHEDIR.TAG").exists()
    assert program.run(*options, "-c", READ).out == "True\n"
    assert program.run("--cache", ".cache", "-c", WRITE + "print(os.getcwd())").code == 0
    assert (program.directory / ".cache/cache/huggingface/hub/new").exists()


def test_variables_of_the_user_count_and_without_a_sandbox_nothing_changes(program: Program, home: Path) -> None:
    assert program.run("-c", "import os; print(os.environ.get('XDG_CACHE_HOME'))").out == "None\n"
    program.sandbox = "bubblewrap"
    ended = program.run(
        *CONFIGURED, "-c", "import os; print(os.environ['XDG_CACHE_HOME'], 'IPYBOX_CACHE' in os.environ)"
    )
    assert ended.out.endswith(" False\n")
    code = "import subprocess; print(subprocess.run(['sh', '-c', 'echo $XDG_CACHE_HOME'], capture_output=True).stdout)"
    assert "/cache" in program.run(*CONFIGURED, "-c", code).out


def test_places_that_others_use_are_refused(boxed: Program, home: Path) -> None:
    for place in (home, home / ".cache"):
        ended = boxed.run("--cache", str(place), "-c", "print(1)")
        assert (ended.code, ended.out) == (3, "")
        assert "has files that are no caches of ipybox" in ended.err
    link = boxed.directory.parent / "link"
    (boxed.directory.parent / "empty").mkdir()
    link.symlink_to(boxed.directory.parent / "empty")
    assert "is a link; name a new directory" in boxed.run("--cache", str(link), "-c", "print(1)").err


def test_each_session_has_its_own(boxed: Program, home: Path, connect: Clients) -> None:
    client = connect("--sessions", *CONFIGURED)
    for name, found in (("a", "['new', 'old'] a model"), ("b", "['new', 'old'] a model")):
        answer = client.call("execute_ipython_cell", code=WRITE, session=name)
        assert found in answer.text
        assert f"/sessions/{name}/.cache/cache" in answer.text
    look = "import glob, os; print(glob.glob(os.getcwd() + '/../*/.cache'))"
    assert "/b/.cache" not in client.call("execute_ipython_cell", code=look, session="a").text
    refused = boxed.without_sandbox("mcp", "--sessions", "--cache", "x", "--workspace", "w")
    assert refused.code == 2
    assert "each session keeps its caches in sessions/NAME/.cache" in refused.err
