"""Packages that mean harm: what pip makes of them for a layer. The sandbox that the host puts around pip is missing here."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness import PACKAGE, PYTHON

Files = Mapping[str, "str | bytes"]


class Layer:
    """A layer, wheels for it, and what a host does with both."""

    def __init__(self, directory: Path) -> None:
        self.wheels = directory / "wheels"
        self.path = directory / "layer"
        self.wheels.mkdir()
        self.path.mkdir()

    def wheel(self, name: str, files: Files, requires: str = "", version: str = "1.0", more: str = "") -> None:
        """Writes a wheel; its metadata may have more to say."""
        info = f"{name}-{version}.dist-info"
        needs = f"Requires-Dist: {requires}\n" if requires else ""
        texts = {
            **files,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}{more}",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        texts[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in (*texts, f"{info}/RECORD"))
        with zipfile.ZipFile(self.wheels / f"{name}-{version}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
            for file, text in texts.items():
                archive.writestr(file, text)

    def install(
        self, *names: str, memory: int | None = None, size: int | None = None, **variables: str
    ) -> tuple[dict[str, Any], str]:
        """Runs the installer; returns its outcome and its output."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        wanted = {
            "layer": str(self.path),
            "requirements": names,
            "options": [],
            "wheels": [str(self.wheels)],
            "memory": memory,
            "size": size,
            "network": False,
        }
        ours.send(json.dumps(wanted).encode())
        ours.send(json.dumps({"say": ""}).encode())
        settings = {"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": "/dev/null", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        process = subprocess.run(
            [PYTHON, "-I", "-c", (PACKAGE / "installer.py").read_text(), str(theirs.fileno())],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[theirs.fileno()],
            env={**settings, **variables},
            text=True,
            timeout=120,
        )
        theirs.close()
        said = ours.recv(1 << 17)
        ours.close()
        return (json.loads(said) if said else {"outcome": "none"}), process.stdout

    def imported(self, code: str) -> str:
        """What code prints that imports from the layer."""
        begin = f"import sys; sys.path.append({str(self.path)!r})\n"
        said = subprocess.run([PYTHON, "-I", "-c", begin + code], stdout=subprocess.PIPE, text=True, timeout=60)
        return said.stdout.strip()


@pytest.fixture
def layer(tmp_path: Path) -> Iterator[Layer]:
    has_pip = subprocess.run([PYTHON, "-I", "-c", "import pip"], stderr=subprocess.DEVNULL).returncode == 0
    if not has_pip:
        pytest.skip(f"{PYTHON} has no pip")
    yield Layer(tmp_path)


def installed(outcome: dict[str, Any]) -> list[str]:
    """The names of what was installed; what went wrong, if nothing was."""
    return [package["name"] for package in outcome.get("installed", [])] or [
        outcome["outcome"],
        outcome.get("text", ""),
    ]


def test_pip_runs_no_code_of_the_layer(layer: Layer, tmp_path: Path) -> None:
    """It tries to import these, and does without them."""
    spy = f"open({str(tmp_path / 'caught')!r}, 'a').write(__name__ + ' ')\nraise ImportError"
    names = ("_manylinux", "socks", "brotli", "brotlicffi", "keyring", "simplejson", "chardet", "lzma", "bz2")
    layer.wheel("spies", {f"{name}.py": spy for name in names})
    layer.wheel("harmless", {"harmless.py": ""})
    assert installed(layer.install("spies")[0]) == ["spies"]
    assert installed(layer.install("harmless")[0]) == ["harmless"]
    assert not (tmp_path / "caught").exists()
    # What is there already is known all the same.
    outcome, _ = layer.install("harmless")
    assert outcome == {"op": "ended", "outcome": "installed", "installed": []}


def test_a_package_brings_metadata_of_its_own_alone(layer: Layer) -> None:
    layer.wheel("first", {"other.egg-info/PKG-INFO": "Name: other\nVersion: 1.0\n", "first.py": ""})
    layer.wheel("second", {"second-1.0.data/purelib/other-1.0.dist-info/METADATA": "Name: other\nVersion: 1.0\n"})
    outcome, _ = layer.install("first")
    assert outcome["outcome"] == "failed" and "other.egg-info is not of a package" in outcome["text"]
    outcome, _ = layer.install("second")
    assert "other-1.0.dist-info is not of a package" in outcome["text"]
    # What cannot be read would keep pip from all that comes later.
    layer.wheel("unreadable", {"other.egg-info/PKG-INFO": b"Name: \xff\nVersion: 1.0\n"})
    assert layer.install("unreadable")[0]["outcome"] == "failed"
    assert sorted(os.listdir(layer.path)) == [".lock"]


def test_what_metadata_say_is_no_line_for_pip(layer: Layer) -> None:
    """pip takes options, files and values of variables from lines. Layers of before have what came then."""
    names = ("-r /etc/passwd", "${SECRET}", "--no-such-option", "@ file:///etc", "")
    for number, name in enumerate(names):
        info = layer.path / f"other{number}.egg-info"
        info.mkdir()
        (info / "PKG-INFO").write_text(f"Name: tiny\n {name}\nVersion: 1.0\n")
    (layer.path / "late-1.dist-info").mkdir()
    (layer.path / "late-1.dist-info/METADATA").write_text("Name: late\nVersion: 1.0.x\n")
    layer.wheel("harmless", {"harmless.py": ""})
    outcome, output = layer.install("harmless", SECRET="password")
    assert installed(outcome) == ["harmless"]
    assert "root:" not in output and "password" not in output


BACKEND = """
import os
open({marker!r}, "w").close()
os._exit(1)
"""


def test_what_a_package_needs_is_named_and_not_built(layer: Layer, tmp_path: Path) -> None:
    source, marker = tmp_path / "source", tmp_path / "ran"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (source / "backend.py").write_text(BACKEND.format(marker=str(marker)))
    (source / "setup.py").write_text(BACKEND.format(marker=str(marker)))
    layer.wheel("builds", {"builds.py": ""}, f"source @ file://{source}")
    outcome, output = layer.install("builds")
    assert outcome["outcome"] == "failed" and "nothing is built, and no program is run" in output
    (source / "pyproject.toml").unlink()
    assert layer.install("builds")[0]["outcome"] == "failed"
    assert not marker.exists()

    layer.wheel("harmless", {"harmless.py": ""})
    file = layer.wheels / "harmless-1.0-py3-none-any.whl"
    layer.wheel("points", {"points.py": ""}, f"harmless @ file://{file}")
    outcome, _ = layer.install("points")
    assert outcome["outcome"] == "failed" and "harmless is needed by its URL" in outcome["text"]
    assert sorted(os.listdir(layer.path)) == [".lock"]


def test_a_deep_package_does_not_close_the_layer(layer: Layer) -> None:
    """Deeper than Python's functions may call each other."""
    directories = ["deep/" + "d/" * depth for depth in range(1100)]
    layer.wheel("owner", {"taken.py": "1"})
    layer.wheel("deep", {**{f"{directory}f.py": "" for directory in directories}, "taken.py": "2"})
    layer.wheel("harmless", {"harmless.py": ""})
    assert installed(layer.install("owner")[0]) == ["owner"]
    outcome, _ = layer.install("deep")
    assert outcome["outcome"] == "conflict" and "taken.py belongs to another package" in outcome["text"]
    assert installed(layer.install("harmless")[0]) == ["harmless"]
    assert not (layer.path / ".staging").exists()


def test_a_layer_that_cannot_be_used_is_named(layer: Layer) -> None:
    (layer.path / ".lock").mkdir()
    outcome, _ = layer.install("harmless")
    assert outcome["outcome"] == "failed" and str(layer.path / ".lock") in outcome["text"]


def test_a_module_that_is_installed_stays_the_one_that_is_imported(layer: Layer) -> None:
    """A directory counts before a file, an extension before a source, and what is compiled before its source."""
    tag = layer.imported("import sys; print(sys.implementation.cache_tag)")
    extension = layer.imported("import importlib.machinery as m; print(m.EXTENSION_SUFFIXES[0])")
    layer.wheel("owner", {"one.py": "x = 1", "many/__init__.py": "x = 1"})
    assert installed(layer.install("owner")[0]) == ["owner"]
    forms = ("one/__init__.py", f"one{extension}", "one.pyc", f"many/__init__{extension}", "many.py")
    for number, form in enumerate(forms):
        layer.wheel(f"thief{number}", {form: "x = 2", "loot.py": ""})
        outcome, _ = layer.install(f"thief{number}")
        assert outcome["outcome"] == "conflict" and "would take the place of" in outcome["text"], form
    # These are looked for with `python -O`.
    layer.wheel("compiled", {f"__pycache__/one.{tag}.opt-1.pyc": "", f"many/__pycache__/a.{tag}.pyc": "", "b.py": ""})
    assert installed(layer.install("compiled")[0]) == ["compiled"]
    assert not list(layer.path.rglob("*.opt-1.pyc")) and not list(layer.path.rglob("a.*.pyc"))
    assert layer.imported("import one, many, b; print(one.x, many.x)") == "1 1"
    assert not (layer.path / "loot.py").exists()


def test_packages_may_share_a_file(layer: Layer) -> None:
    """What is compiled from it differs: it has the time of its source."""
    for name in ("first", "second"):
        layer.wheel(name, {"shared/__init__.py": "", f"shared/{name}.py": f"print({name!r})"})
        assert installed(layer.install(name)[0]) == [name]
    assert layer.imported("import shared.first, shared.second") == "first\nsecond"
    assert len(list(layer.path.glob("shared/__pycache__/*.pyc"))) == 3


def test_pip_takes_no_more_memory_than_it_may(layer: Layer) -> None:
    layer.wheel("large", {"large.py": ""}, more="\n" + "1" * (300 << 20))
    outcome, output = layer.install("large", memory=200 << 20)
    assert outcome["outcome"] == "failed" and "MemoryError" in output
    assert sorted(os.listdir(layer.path)) == [".lock"]


def test_a_layer_takes_no_more_of_the_disk_than_it_may(layer: Layer) -> None:
    """However small a package is before it is unpacked: ended while it is unpacked, and nothing of it stays."""
    layer.wheel("bomb", {f"bomb/{i}.bin": bytes(32 << 20) for i in range(4)})
    assert (layer.wheels / "bomb-1.0-py3-none-any.whl").stat().st_size < 1 << 20
    outcome, _ = layer.install("bomb", size=64 << 20)
    assert outcome["outcome"] == "full" and str(64 << 20) in outcome["text"]
    assert sorted(os.listdir(layer.path)) == [".lock"]
    assert installed(layer.install("bomb", size=1 << 30)[0]) == ["bomb"]

    # What is there already counts, and so do files without any bytes.
    layer.wheel("small", {"small.py": ""})
    assert layer.install("small", size=128 << 20)[0]["outcome"] == "full"
    layer.wheel("many", {f"many/{i}.txt": "" for i in range(3000)})
    assert layer.install("many", size=(128 << 20) + (10 << 20))[0]["outcome"] == "full"
    assert not (layer.path / "many").exists()


def test_the_disk_is_looked_at_while_pip_runs(layer: Layer) -> None:
    """pip is ended when it exceeds the bound, not when it has written everything."""
    layer.wheel("bomb", {f"bomb/{i}.bin": bytes(64 << 20) for i in range(12)})
    most, ended = 0, threading.Event()

    def look() -> None:
        nonlocal most
        while not ended.wait(0.02):
            try:
                most = max(most, sum(512 * path.stat().st_blocks for path in layer.path.rglob("*.bin")))
            except OSError:
                continue  # it is being removed

    looking = threading.Thread(target=look)
    looking.start()
    outcome, _ = layer.install("bomb", size=100 << 20)
    ended.set()
    looking.join()
    assert outcome["outcome"] == "full"
    assert 0 < most < 512 << 20


def test_the_lock_of_a_layer_cannot_be_read(layer: Layer) -> None:
    """What can be read can be locked."""
    (layer.path / ".lock").touch(0o600)
    layer.install("nothing")
    assert (layer.path / ".lock").stat().st_mode & 0o777 == 0o200
