"""Writes wheels of small packages into a directory: ``write_wheels.py DIRECTORY``."""

import sys
import zipfile
from pathlib import Path


def write(directory: Path, name: str, version: str, files: dict[str, str], requires: str = "") -> None:
    info = f"{name}-{version}.dist-info"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": tags,
    }
    record = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(directory / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(file, text)


directory = Path(sys.argv[1])
directory.mkdir(parents=True, exist_ok=True)
for version in ("1.0", "2.0"):
    write(directory, "ipybox_tiny", version, {"ipybox_tiny.py": f"version = {version!r}\n"})
write(directory, "ipybox_needs", "1.0", {"ipybox_shared/needs.py": "import ipybox_tiny\n"}, "ipybox_tiny<2")
write(directory, "ipybox_more", "1.0", {"ipybox_shared/more.py": "", "json.py": "bad = 1"})
write(directory, "ipybox_thief", "1.0", {"ipybox_tiny.py": "version = 'stolen'\n"})
write(directory, "ipykernel", "0.1", {"ipykernel/__init__.py": ""})
