"""What a configuration means here and to sandbox-runtime itself: nothing that srt closes is open."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import BINARY

#: The tree below a home; its project is the working directory. An empty name makes an empty directory.
FILES = (
    "project/.env",
    "project/a.txt",
    "project/a.pem",
    "project/sub/.env",
    "project/sub/b.pem",
    "project/sub/deep/.env",
    "project/sub/.bashrc",
    "project/secret/key",
    "project/secret/public/key",
    "project/out/x",
    "project/out/keep/x",
    "project/.git/HEAD",
    "project/.git/hooks/pre-commit",
    "project/.git/config",
    "project/nested/.git/hooks/pre-commit",
    "project/nested/.git/config",
    "project/.vscode/tasks.json",
    "outside/x",
    "outside/secret",
    ".ssh/id",
    ".bashrc",
)

#: Links, and what they lead to.
LINKS = {"project/in": "sub", "project/away": "../outside", "project/link.env": "sub/.env"}

#: What no configuration mentions, and is not there either. Of srt's own list only what any program reads in a project.
MISSING = ("project/.mcp.json", "project/.claude/commands/x", "project/new", "project/sub/new")

CONFIGURATIONS = {
    "the original's": {"denyRead": [".env"], "allowWrite": ["."], "denyWrite": []},
    "nothing writable": {"denyRead": [], "allowWrite": [], "denyWrite": []},
    "patterns": {"denyRead": ["**/.env", "*.pem", "sub/[ab].pem"], "allowWrite": ["."], "denyWrite": ["out/k*"]},
    "a directory with an exception": {
        "denyRead": ["secret"],
        "allowRead": ["secret/public"],
        "allowWrite": ["."],
        "denyWrite": [],
    },
    "writable parts": {"denyRead": [], "allowWrite": ["out", "sub"], "denyWrite": ["out/keep", "out/absent"]},
    "a home that is closed": {"denyRead": ["~"], "allowRead": ["."], "allowWrite": ["."], "denyWrite": []},
    "links": {"denyRead": ["link.env", "away/secret"], "allowWrite": ["in", "away"], "denyWrite": []},
    "git's configuration": {
        "denyRead": ["~/.ssh"],
        "allowWrite": [".", "~/outside"],
        "denyWrite": ["a.txt"],
        "allowGitConfig": True,
    },
}

#: Prints what can be done with each path: read or listed, written to or something made in it.
PROBE = """
while read -r path; do
  found=
  if [ -d "$path" ]; then
    [ -n "$(ls -A "$path" 2>/dev/null)" ] && found=r
    (: > "$path/made-here") 2>/dev/null && found=${found}w && rm -f "$path/made-here"
  elif [ -e "$path" ]; then
    [ -n "$(cat "$path" 2>/dev/null)" ] && found=r
    (: >> "$path") 2>/dev/null && found=${found}w
  else
    (mkdir -p "$(dirname "$path")" && echo x > "$path") 2>/dev/null && found=w && rm -f "$path"
  fi
  echo "$path ${found:--}"
done <<'PATHS'
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A home with a project, outside of the directories that are private here."""
    with tempfile.TemporaryDirectory(prefix="ipybox-srt-", dir=Path.cwd()) as name:
        for file in FILES:
            path = Path(name) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("text")
        for link, target in LINKS.items():
            (Path(name) / link).symlink_to(target)
        yield Path(name)


def probed_paths(home: Path) -> list[str]:
    folders = {str(Path(file).parent) for file in FILES}
    return [str(home / name) for name in sorted({*FILES, *LINKS, *MISSING, *folders} - {"."})]


def outcomes(home: Path, command: list[str]) -> dict[str, str]:
    environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    ended = subprocess.run(command, cwd=home / "project", env=environment, capture_output=True, text=True, timeout=120)
    lines = [line.rsplit(" ", 1) for line in ended.stdout.splitlines() if line.startswith(str(home))]
    found = {path.removeprefix(f"{home}/"): rights for path, rights in lines}
    assert len(found) == len(probed_paths(home)), ended.stdout + ended.stderr
    return found


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_nothing_is_open_that_srt_closes(home: Path, name: str) -> None:
    srt = shutil.which("srt")
    if not srt or not all(map(shutil.which, ("rg", "socat"))):
        pytest.skip("elsewhere: there is no srt with ripgrep and socat here")
    settings = home / "settings.json"
    network = {"allowedDomains": [], "deniedDomains": []}
    settings.write_text(json.dumps({"network": network, "filesystem": CONFIGURATIONS[name]}))
    script = home / "project/probe.sh"
    script.write_text(PROBE + "\n".join(probed_paths(home)) + "\nPATHS\n")

    theirs = outcomes(home, [srt, "--settings", str(settings), "--", "sh", str(script)])
    ours = outcomes(home, [BINARY, "run", "--sandbox-config", str(settings), "--yes", "-c", f"!sh {script}"])
    differing = {path: (theirs[path], ours[path]) for path in theirs if theirs[path] != ours[path]}
    opened = {path: both for path, both in differing.items() if set(both[1]) - set(both[0]) - {"-"}}
    assert not opened, "theirs and ours"
    assert len(differing) * 4 < len(theirs), differing
