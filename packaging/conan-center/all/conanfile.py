import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class IpyboxConan(ConanFile):
    name = "ipybox"
    description = "Runs Python in a stateful, sandboxed IPython kernel"
    license = "Apache-2.0"
    url = "https://github.com/conan-io/conan-center-index"
    topics = ("python", "ipython", "jupyter", "sandbox", "mcp", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_zmq": [True, False]}
    default_options = {"with_zmq": False}
    no_copy_source = True

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        self.requires("asio/1.30.2")
        self.requires("http_parser/2.9.4")
        self.requires("nlohmann_json/3.11.3")
        self.requires("openssl/[>=3 <4]")
        self.requires("tl-expected/1.1.0")
        if self.options.with_zmq:
            self.requires("cppzmq/4.10.0")

    def package_id(self):
        self.info.settings.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"{self.ref} needs Linux: it uses pidfds, namespaces and Landlock")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def build(self):
        pass

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for pattern in ("*.hpp", "*.ipp"):
            copy(
                self, pattern, os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include")
            )

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "ipybox")
        core = self.cpp_info.components["core"]
        core.set_property("cmake_target_name", "ipybox::ipybox")
        core.requires = [
            "asio::asio",
            "http_parser::http_parser",
            "nlohmann_json::nlohmann_json",
            "openssl::crypto",
            "tl-expected::tl-expected",
        ]
        core.system_libs = ["pthread"]
        components = [core]
        if self.options.with_zmq:
            zmq = self.cpp_info.components["zmq"]
            zmq.set_property("cmake_target_name", "ipybox::zmq")
            zmq.defines = ["IPYBOX_ZMQ"]
            zmq.requires = ["core", "cppzmq::cppzmq"]
            components.append(zmq)
        for component in components:
            component.bindirs = []
            component.libdirs = []
