"""conan create packaging/conan --build=missing: reprise/0.1.0 from the sources that this recipe lies in.

LLVM 19 is not among Conan's packages: it is taken from the system (llvm-19-dev), and linked in with -o reprise/*:static_llvm=True.
"""
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class RepriseConan(ConanFile):
    name = "reprise"
    version = "0.1.0"
    description = "Compiles plain C++ tensor code while it runs"
    # license: not decided yet
    topics = ("tensor", "compiler", "jit", "inference")
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "static_llvm": [True, False]}
    default_options = {"shared": False, "static_llvm": True}
    requires = "nlohmann_json/[>=3.11]"

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Reprise is built for Linux")

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "cmake/*", "include/*", "tools/*", "examples/CMakeLists.txt") + tuple(
            f"{room}/*" for room in ("base", "guards", "device", "tensor", "graph", "passes", "kernels", "jit", "operators", "runtime", "import")
        ):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["REPRISE_STATIC_LLVM"] = bool(self.options.static_llvm)
        for part in ("TESTS", "BENCH", "EXAMPLES"):
            toolchain.cache_variables[f"REPRISE_BUILD_{part}"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package's own files say more than a generated one
        self.cpp_info.builddirs.append(os.path.join("lib", "cmake", "reprise"))
        self.cpp_info.libs = ["reprise"]
        if self.settings.os == "Linux":
            self.cpp_info.system_libs = ["pthread", "dl", "m"]
