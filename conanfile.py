"""Conan 2 recipe. The package is what `cmake --install` writes: the library, or, with `header_only`, its headers."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run, check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout

required_conan_version = ">=2.0"


class IpyboxConan(ConanFile):
    name = "ipybox"
    description = "Runs Python in a stateful, sandboxed IPython kernel (C++20)"
    license = "Apache-2.0"
    topics = ("python", "ipython", "jupyter", "sandbox", "mcp")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "header_only": [True, False],
        "with_zmq": [True, False],
        "with_http": [True, False],
    }
    default_options = {"shared": False, "header_only": False, "with_zmq": False, "with_http": False}
    exports_sources = (
        "CMakeLists.txt",
        "LICENSE",
        "cmake/*",
        "include/*",
        "python/ipybox_kernel/*",
        "tests/*",
        "!tests/consumer/*/build/*",
    )
    no_copy_source = True
    generators = "CMakeDeps"

    def set_version(self):
        text = (Path(self.recipe_folder) / "include/ipybox/version.hpp").read_text(encoding="utf-8")
        self.version = re.search(r'IPYBOX_VERSION_STRING "([0-9.]+)"', text)[1]

    def configure(self):
        if self.options.header_only:
            self.options.rm_safe("shared")
            self.package_type = "header-library"

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # the interface names types of these, so programs compile with the same versions
        self.requires("asio/[>=1.22 <2]", transitive_headers=True)
        self.requires("nlohmann_json/[>=3.11 <4]", transitive_headers=True)
        self.requires("tl-expected/[>=1.0 <2]", transitive_headers=True)
        # the headers alone have bodies that call these
        self.requires("http_parser/[>=2.9 <3]", transitive_headers=True, transitive_libs=True)
        self.requires("openssl/[>=3.0 <4]", transitive_headers=True, transitive_libs=True)
        if self.options.with_zmq:
            self.requires("cppzmq/[>=4.9 <5]", transitive_headers=True, transitive_libs=True)
        if self.options.with_http:
            self.requires("libcurl/[>=7.85 <9]", transitive_headers=True, transitive_libs=True)

    def build_requirements(self):
        self.test_requires("catch2/[>=2.13 <4]")
        if not self.options.with_zmq:
            self.test_requires("cppzmq/[>=4.9 <5]")

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        if self.info.options.header_only:
            self.info.clear()
            return
        # ipyboxConfig.cmake compares these to the last digit, and OpenSSL within the library to its major version
        for name in ("asio", "nlohmann_json", "tl-expected"):
            self.info.requires[name].full_version_mode()

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("CLI", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"IPYBOX_BUILD_{part}"] = False
        toolchain.cache_variables["IPYBOX_BUILD_TESTS"] = self._tests_wanted
        toolchain.cache_variables["IPYBOX_INSTALL_COMPILED"] = not self.options.header_only
        toolchain.cache_variables["IPYBOX_ZMQ"] = bool(self.options.with_zmq) or self._tests_wanted
        toolchain.cache_variables["IPYBOX_HTTP"] = bool(self.options.with_http)
        toolchain.generate()

    @property
    def _tests_wanted(self):
        return not self.conf.get("tools.build:skip_test", default=False, check_type=bool)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if not self.options.header_only:
            cmake.build()
        if self._tests_wanted and can_run(self):
            cmake.build(target="unit_tests")
            cmake.ctest(cli_args=["--label-regex", "fast", "--output-on-failure"])

    def package(self):
        CMake(self).install()

    def package_info(self):
        # our own ipyboxConfig.cmake finds the dependencies, from CMakeDeps or from the system
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/ipybox"]
        self.cpp_info.bindirs = []
        if self.options.header_only:
            self.cpp_info.libdirs = []
