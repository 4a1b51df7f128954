"""The overlay port, run as vcpkg runs it: its functions are stood in for by the CMake commands that they end in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["IPYBOX_BUILD"])
REPOSITORY = Path(__file__).parents[2]
PORT = REPOSITORY / "packaging/vcpkg/ports/ipybox"

SCRIPT = """
cmake_minimum_required(VERSION 3.25)
set(PORT ipybox)
function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options)
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    list(APPEND options -D${option}=ON)
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR} -G Ninja
    -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${arg_OPTIONS} -C ${SETTINGS} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_install)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${CURRENT_BUILDTREES_DIR} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/ipyboxConfig.cmake)
    message(FATAL_ERROR "no CMake package in ${arg_CONFIG_PATH}")
  endif()
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()
include(${PORTFILE})
"""


#: With these, and in a directory as deep as ours, the compiler's cache has the library.
OURS = (
    "CMAKE_BUILD_TYPE",
    "CMAKE_COMPILE_WARNING_AS_ERROR",
    "CMAKE_CXX_COMPILER",
    "CMAKE_CXX_COMPILER_LAUNCHER",
    "CMAKE_CXX_FLAGS_RELEASE",
    "IPYBOX_JOIN_ROOMS",
)


def settings_of_our_build() -> str:
    lines = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8").splitlines()
    known = dict(line.split("=", 1) for line in lines if "=" in line and line[0].isalpha())
    values = {name.split(":")[0]: value for name, value in known.items()}
    return "".join(f'set({name} "{values[name]}" CACHE STRING "")\n' for name in OURS if values.get(name))


@pytest.mark.timeout(1200)  # without the compiler's cache the library is compiled
def test_the_port_installs_the_library(tmp_path: Path) -> None:
    (tmp_path / "vcpkg.cmake").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "settings.cmake").write_text(settings_of_our_build(), encoding="utf-8")
    packages, buildtrees = tmp_path / "packages", BUILD.with_name(f"{BUILD.name}_vcpkg")
    shutil.rmtree(buildtrees, ignore_errors=True)
    settings = {
        "PORTFILE": PORT / "portfile.cmake",
        "CURRENT_PACKAGES_DIR": packages,
        "CURRENT_BUILDTREES_DIR": buildtrees,
        "SETTINGS": tmp_path / "settings.cmake",
    }
    command = [os.environ["IPYBOX_CMAKE"], *(f"-D{k}={v}" for k, v in settings.items()), "-P", tmp_path / "vcpkg.cmake"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    assert "not used" not in done.stderr, done.stderr  # of an option that CMakeLists.txt does not have

    assert sorted(path.name for path in packages.iterdir()) == ["include", "lib", "share"]
    assert sorted(path.name for path in (packages / "lib").iterdir()) == [
        "libipybox.a",
        "libipybox_http.a",
        "libipybox_zmq.a",
    ]
    installed = {path.name for path in (packages / "share/ipybox").iterdir()}
    assert {"ipyboxConfig.cmake", "ipyboxLibraryTargets.cmake", "usage", "copyright"} <= installed
    assert (packages / "include/ipybox/executor.hpp").exists()


def test_the_port_and_the_manifest_name_the_same_libraries() -> None:
    port = json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))
    manifest = json.loads((REPOSITORY / "vcpkg.json").read_text(encoding="utf-8"))
    assert port["dependencies"] == manifest["dependencies"]
    for feature in ("zmq", "http"):
        assert port["features"][feature] == manifest["features"][feature]
