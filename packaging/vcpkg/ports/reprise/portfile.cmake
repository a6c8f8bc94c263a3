# An overlay port: vcpkg install reprise --overlay-ports=<reprise>/packaging/vcpkg/ports. It builds the sources that it lies in; REPRISE_SOURCE names others.
if(DEFINED ENV{REPRISE_SOURCE})
  set(SOURCE_PATH "$ENV{REPRISE_SOURCE}")
else()
  get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DREPRISE_BUILD_TESTS=OFF
    -DREPRISE_BUILD_BENCH=OFF
    -DREPRISE_BUILD_EXAMPLES=OFF
    -DREPRISE_STATIC_LLVM=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/reprise)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
# The licence is not decided yet: its text goes to share/reprise/copyright with vcpkg_install_copyright, from here.
