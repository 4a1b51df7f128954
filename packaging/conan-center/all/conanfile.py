import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir

required_conan_version = ">=2.0"


class IpyboxConan(ConanFile):
    name = "ipybox"
    description = "Runs Python in a stateful, sandboxed IPython kernel"
    license = "Apache-2.0"
    url = "https://github.com/conan-io/conan-center-index"
    topics = ("python", "ipython", "jupyter", "sandbox", "mcp")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "header_only": [True, False],
        "with_zmq": [True, False],
        "with_http": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "header_only": False,
        "with_zmq": False,
        "with_http": False,
    }

    def configure(self):
        if self.options.shared or self.options.header_only:
            self.options.rm_safe("fPIC")
        if self.options.header_only:
            del self.options.shared
            self.package_type = "header-library"

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        # its headers include all of them: with `header_only` their bodies, too
        self.requires("asio/1.30.2", transitive_headers=True)
        self.requires("http_parser/2.9.4", transitive_headers=True, transitive_libs=True)
        self.requires("nlohmann_json/3.11.3", transitive_headers=True)
        self.requires("openssl/[>=3 <4]", transitive_headers=True, transitive_libs=True)
        self.requires("tl-expected/1.1.0", transitive_headers=True)
        if self.options.with_zmq:
            self.requires("cppzmq/4.10.0", transitive_headers=True, transitive_libs=True)
        if self.options.with_http:
            self.requires("libcurl/[>=7.85 <9]", transitive_headers=True, transitive_libs=True)

    def package_id(self):
        if self.info.options.header_only:
            self.info.settings.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"{self.ref} needs Linux: it uses pidfds, namespaces and Landlock")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("CLI", "TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"IPYBOX_BUILD_{part}"] = False
        toolchain.cache_variables["IPYBOX_INSTALL_COMPILED"] = not self.options.header_only
        toolchain.cache_variables["IPYBOX_ZMQ"] = bool(self.options.with_zmq)
        toolchain.cache_variables["IPYBOX_HTTP"] = bool(self.options.with_http)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if not self.options.header_only:
            cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "ipybox")
        headers = self.cpp_info.components["header_only"]
        headers.set_property("cmake_target_name", "ipybox::header_only")
        headers.requires = [
            "asio::asio",
            "http_parser::http_parser",
            "nlohmann_json::nlohmann_json",
            "openssl::crypto",
            "tl-expected::tl-expected",
        ]
        headers.system_libs = ["pthread"]
        headers.bindirs = []
        headers.libdirs = []
        if self.options.with_zmq:
            zmq_headers = self.cpp_info.components["zmq_header_only"]
            zmq_headers.set_property("cmake_target_name", "ipybox::zmq_header_only")
            zmq_headers.defines = ["IPYBOX_ZMQ"]
            zmq_headers.requires = ["header_only", "cppzmq::cppzmq"]
            zmq_headers.bindirs = []
            zmq_headers.libdirs = []
        if self.options.with_http:
            http_headers = self.cpp_info.components["http_header_only"]
            http_headers.set_property("cmake_target_name", "ipybox::http_header_only")
            http_headers.defines = ["IPYBOX_HTTP"]
            http_headers.requires = ["header_only", "libcurl::libcurl"]
            http_headers.bindirs = []
            http_headers.libdirs = []
        if self.options.header_only:
            return

        core = self.cpp_info.components["core"]
        core.set_property("cmake_target_name", "ipybox::ipybox")
        core.defines = ["IPYBOX_SEPARATE_COMPILATION"]
        core.libs = ["ipybox"]
        core.requires = ["header_only"]
        if self.options.with_zmq:
            zmq = self.cpp_info.components["zmq"]
            zmq.set_property("cmake_target_name", "ipybox::zmq")
            zmq.defines = ["IPYBOX_ZMQ"]
            zmq.libs = ["ipybox_zmq"]
            zmq.requires = ["core", "cppzmq::cppzmq"]
        if self.options.with_http:
            http = self.cpp_info.components["http"]
            http.set_property("cmake_target_name", "ipybox::http")
            http.defines = ["IPYBOX_HTTP"]
            http.libs = ["ipybox_http"]
            http.requires = ["core", "libcurl::libcurl"]
