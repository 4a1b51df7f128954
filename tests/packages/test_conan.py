"""`conan create` with both recipes. The dependencies come from an index of recipes over the packages of this system."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
CONAN = REPOSITORY / ".venvs/conan/bin/conan"

pytestmark = [
    pytest.mark.timeout(1200),  # the library is compiled
    pytest.mark.skipif(
        not CONAN.exists() and "IPYBOX_TEST_STRICT" not in os.environ,
        reason="no Conan in .venvs/conan: ./dev test installs it",
    ),
]

#: What the recipe of a library in Conan Center says to CMake, and the library of the system in its place.
LIBRARIES = {
    "asio": ("1.30.2", {"asio": ("asio::asio", "")}),
    "cppzmq": ("4.10.0", {"cppzmq": ("cppzmq", "zmq")}),
    "http_parser": ("2.9.4", {"http_parser": ("http_parser::http_parser", "http_parser")}),
    "nlohmann_json": ("3.11.3", {"nlohmann_json": ("nlohmann_json::nlohmann_json", "")}),
    "openssl": ("3.0.19", {"OpenSSL": ("OpenSSL::Crypto", "crypto")}),
    "tl-expected": ("1.1.0", {"tl-expected": ("tl::expected", "")}),
    "catch2": ("3.7.1", {"Catch2": ("Catch2::Catch2", "")}),
}

RECIPE = """
from conan import ConanFile

class Library(ConanFile):
    name = "{name}"
    package_type = "shared-library"

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "{file}")
        part = self.cpp_info.components["{component}"]
        part.set_property("cmake_target_name", "{target}")
        part.includedirs = []
        part.system_libs = {libraries}
"""

Conan = Callable[..., str]


@pytest.fixture(scope="module")
def conan(tmp_path_factory: pytest.TempPathFactory) -> Conan:
    """Runs Conan with a home of its own, which knows this index alone."""
    tmp_path = tmp_path_factory.mktemp("conan")
    environment = {**os.environ, "CONAN_HOME": str(tmp_path / "home")}

    def run(*arguments: str | Path) -> str:
        command = [str(CONAN), *map(str, arguments)]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    for name, (version, packages) in LIBRARIES.items():
        folder = tmp_path / "index/recipes" / name
        (folder / "all").mkdir(parents=True)
        (folder / "config.yml").write_text(f'versions:\n  "{version}":\n    folder: all\n', encoding="utf-8")
        ((file, (target, library)),) = packages.items()
        component = "crypto" if name == "openssl" else name
        libraries = [library] if library else []
        recipe = RECIPE.format(name=name, file=file, target=target, component=component, libraries=libraries)
        (folder / "all/conanfile.py").write_text(recipe, encoding="utf-8")
    run("profile", "detect")
    run("remote", "remove", "*")
    run("remote", "add", "index", tmp_path / "index", "--type", "local-recipes-index")
    return run


def create(conan: Conan, folder: Path, *arguments: str) -> str:
    configuration = {
        "tools.build:skip_test": "True",
        "tools.cmake.cmaketoolchain:extra_variables": str({"IPYBOX_JOIN_ROOMS": "ON"}),  # less work in all
        # nothing is written beside the recipe
        "tools.cmake.cmake_layout:test_folder": "$TMP",
        "tools.cmake.cmaketoolchain:user_presets": "",
    }
    given = [word for name, value in configuration.items() for word in ("-c", f"{name}={value}")]
    settings = ("-s", "compiler.cppstd=20", "-s", "build_type=Debug")  # which is compiled in two thirds of the time
    return conan("create", folder, "--build=missing", *given, *settings, *arguments)


def test_the_recipe_of_the_project(conan: Conan) -> None:
    assert ": 42\n" in create(conan, REPOSITORY)
    assert not (REPOSITORY / "test_package/build").exists()


def test_the_recipe_for_conan_center(conan: Conan, tmp_path: Path) -> None:
    archive = tmp_path / "ipybox.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("CMakeLists.txt", "LICENSE", "cmake", "include"):
            tar.add(REPOSITORY / name, arcname=f"ipybox-0.1.0/{name}")
    recipe = tmp_path / "ipybox"
    shutil.copytree(REPOSITORY / "packaging/conan-center", recipe)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    text = f'sources:\n  "0.1.0":\n    url: "{archive.as_uri()}"\n    sha256: "{digest}"\n'
    (recipe / "all/conandata.yml").write_text(text, encoding="utf-8")

    options = ("--version", "0.1.0", "-o", "ipybox/*:with_zmq=True")
    said = create(conan, recipe / "all", *options)
    assert ": 42\n" in said
    assert "cppzmq/4.10.0" in said


def test_another_standard_than_20_is_refused(conan: Conan) -> None:
    with pytest.raises(AssertionError, match=r"Current cppstd \(17\) is lower"):
        create(conan, REPOSITORY, "-s", "compiler.cppstd=17")
