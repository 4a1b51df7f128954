"""The places of caches, as a kernel's environment names them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from ipybox_kernel import caches


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with models and settings."""
    for name in (".cache/huggingface/hub/model", ".config/tool/settings", ".keras/models/net", ".cache/matplotlib/x"):
        (tmp_path / "home" / name).parent.mkdir(parents=True)
        (tmp_path / "home" / name).write_text(name)
    (tmp_path / "home/.cache/matplotlib/fontlist-v1.json").write_text("{}")
    return tmp_path / "home"


def test_a_home_that_can_be_written_to_is_used_as_it_is(tmp_path: Path, home: Path) -> None:
    assert caches.Caches(str(tmp_path / "private"), False).variables({"HOME": str(home)}) == {}
    assert not (tmp_path / "private").exists()


def test_every_variable_leads_to_the_place(tmp_path: Path, home: Path) -> None:
    place = tmp_path / "private"
    found = caches.Caches(str(place), True).variables({"HOME": str(home)})
    assert set(found) == set(caches.VARIABLES)
    assert all(Path(path).is_relative_to(place) for path in found.values())
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "NLTK_DATA"):
        assert Path(found[name]).is_dir()


def test_what_the_user_has_is_there_and_new_files_go_elsewhere(tmp_path: Path, home: Path) -> None:
    found = caches.Caches(str(tmp_path / "private"), True).variables({"HOME": str(home)})
    hub = Path(found["XDG_CACHE_HOME"], "huggingface/hub")
    assert (hub / "model").read_text() == ".cache/huggingface/hub/model"
    assert Path(found["XDG_CONFIG_HOME"], "tool/settings").read_text() == ".config/tool/settings"
    assert Path(found["KERAS_HOME"], "models/net").exists()
    (hub / "new").write_text("new")
    assert os.listdir(home / ".cache/huggingface/hub") == ["model"]
    fonts = Path(found["XDG_CACHE_HOME"], "matplotlib/fontlist-v1.json")
    assert fonts.read_text() == "{}"
    assert not fonts.is_symlink()


def test_a_place_that_is_named_counts_and_is_made_once(tmp_path: Path, home: Path) -> None:
    place = caches.Caches("", False)
    env = {"HOME": str(home), "IPYBOX_CACHE": str(tmp_path / "kept")}
    first = place.variables(dict(env))
    (home / ".config/later").write_text("")
    assert place.variables(dict(env)) == first
    assert not Path(first["XDG_CONFIG_HOME"], "later").exists()
    again = caches.Caches("", False).variables(env)
    assert "IPYBOX_CACHE" not in env
    assert Path(again["XDG_CONFIG_HOME"], "later").exists()


def test_large_directories_are_left_out_and_a_place_that_cannot_be_made_is_none(tmp_path: Path, home: Path) -> None:
    for number in range(caches.MOST_ENTRIES + 1):
        (home / ".cache/huggingface/hub" / str(number)).write_text("")
    found = caches.Caches(str(tmp_path / "private"), True).variables({"HOME": str(home)})
    assert not Path(found["XDG_CACHE_HOME"], "huggingface").exists()
    (tmp_path / "file").write_text("")
    assert caches.Caches(str(tmp_path / "file/below"), True).variables({"HOME": str(home)}) == {}


@pytest.mark.parametrize("settings", [[], ["matplotlibrc"]])
def test_matplotlib_can_write_beside_the_settings_of_the_user(tmp_path: Path, home: Path, settings: list[str]) -> None:
    (home / ".config/matplotlib").mkdir()
    for name in settings:
        (home / ".config/matplotlib" / name).write_text(name)
    found = caches.Caches(str(tmp_path / "private"), True).variables({"HOME": str(home)})
    place = Path(found["XDG_CONFIG_HOME"], "matplotlib")
    assert not place.is_symlink()  # which it would resolve, and find that it cannot write there
    assert sorted(os.listdir(place)) == settings
