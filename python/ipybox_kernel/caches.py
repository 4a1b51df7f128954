"""The places in which libraries keep what they have fetched or computed, where they cannot write at home."""

from __future__ import annotations

import os
import shutil
import tempfile

#: Below the place of a kernel's caches, what variables name (XDG Base Directory Specification, and libraries that do
#: not follow it). Those that are missing have their place in one of the first four.
VARIABLES = {
    "XDG_CACHE_HOME": "cache",  # huggingface, torch, seaborn, pooch, playwright, uv, fontconfig, matplotlib, …
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "NUMBA_CACHE_DIR": "cache/numba",
    "KERAS_HOME": "cache/keras",
    "KAGGLEHUB_CACHE": "cache/kagglehub",
    "npm_config_cache": "cache/npm",
    "NLTK_DATA": "data/nltk_data",
    "SCIKIT_LEARN_DATA": "data/scikit_learn_data",
    "EASYOCR_MODULE_PATH": "data/EasyOCR",
    "GENSIM_DATA_DIR": "data/gensim-data",
    "TFDS_DATA_DIR": "data/tensorflow_datasets",
}

#: Directories at home whose entries can be read under these names, too: what is there is not fetched again.
KNOWN = {
    ".config/matplotlib": "config/matplotlib",  # itself a place to write to, and so not one of those of the next
    ".config": "config",
    ".local/share": "data",
    ".cache/huggingface/hub": "cache/huggingface/hub",
    ".cache/torch/hub/checkpoints": "cache/torch/hub/checkpoints",
    ".cache/whisper": "cache/whisper",
    ".cache/seaborn": "cache/seaborn",
    ".keras/models": "cache/keras/models",
    ".keras/datasets": "cache/keras/datasets",
    "scikit_learn_data": "data/scikit_learn_data",
    ".EasyOCR/model": "data/EasyOCR/model",
}

#: A directory with more entries than these is left out: each takes time at every start.
MOST_ENTRIES = 256

#: Libraries write a list of fonts at their first import; that of the user is as good.
FONTS = ".cache/matplotlib", "cache/matplotlib"


class Caches:
    """The places of the kernels of one supervisor."""

    def __init__(self, private: str, confined: bool) -> None:
        self.private = private  # a directory that ends with the supervisor; empty: below the temporary directory
        self.confined = confined  # whether what can be written to cannot be told by asking
        self.made: dict[str, dict[str, str]] = {}

    def variables(self, env: dict[str, str]) -> dict[str, str]:
        """The variables of a kernel in this environment, whose directories are there. Takes ``IPYBOX_CACHE`` out."""
        named = env.pop("IPYBOX_CACHE", "")
        home = env.get("HOME", "/")
        if not named and not self.confined and is_writable(os.path.join(home, ".cache")):
            return {}
        place = named or self.private or os.path.join(tempfile.gettempdir(), f"ipybox-caches-{os.getuid()}")
        if place not in self.made:
            self.made[place] = make(place, home)
        return self.made[place]


def is_writable(path: str) -> bool:
    """Whether a directory can be written to, or made."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)


def make(place: str, home: str) -> dict[str, str]:
    """Makes the directories; without room for them libraries are left to their own ways."""
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        if os.lstat(place).st_uid != os.getuid():
            return {}
        for name in ("cache", "config/matplotlib", "data/nltk_data", "state"):
            os.makedirs(os.path.join(place, name), exist_ok=True)
        for source, target in KNOWN.items():
            link(os.path.join(home, source), os.path.join(place, target))
        copy_fonts(os.path.join(home, FONTS[0]), os.path.join(place, FONTS[1]))
    except OSError:
        return {}
    return {name: os.path.join(place, target) for name, target in VARIABLES.items()}


def entries(directory: str) -> list[str]:
    """The names in a directory; none where it is missing, or closed as a sandbox closes it."""
    try:
        return os.listdir(directory)
    except OSError:
        return []


def link(source: str, target: str) -> None:
    """Gives the entries of a directory a second name in another one, which can be written to."""
    names = entries(source)
    if not 0 < len(names) <= MOST_ENTRIES:
        return
    os.makedirs(target, exist_ok=True)
    there = set(os.listdir(target))
    for name in names:
        if name not in there:
            os.symlink(os.path.join(source, name), os.path.join(target, name))


def copy_fonts(source: str, target: str) -> None:
    """A list that could only be read would be made anew, with a warning, as soon as it is out of date."""
    lists = [name for name in entries(source) if name.startswith("fontlist-") and name.endswith(".json")]
    if not lists or os.path.lexists(target):
        return
    os.makedirs(target)
    for name in lists:
        shutil.copy(os.path.join(source, name), target)
