# cmake --install: the public headers, one archive, and a package for find_package(reprise CONFIG).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS reprise EXPORT reprise_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/reprise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# What passes over graphs need (docs/custom_operators.md): the library's own headers, apart from the public ones, for the target reprise::extend.
foreach(room base guards tensor graph passes)
  install(DIRECTORY ${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/reprise-extend FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.inc")
endforeach()
add_library(reprise_extend INTERFACE)
add_library(reprise::extend ALIAS reprise_extend)
set_target_properties(reprise_extend PROPERTIES EXPORT_NAME extend)
target_link_libraries(reprise_extend INTERFACE reprise)
target_include_directories(reprise_extend INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/reprise-extend>)
install(TARGETS reprise_extend EXPORT reprise_targets)
install(EXPORT reprise_targets NAMESPACE reprise:: FILE reprise-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
configure_package_config_file(cmake/reprise-config.cmake.in ${PROJECT_BINARY_DIR}/reprise-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/reprise-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/reprise-config.cmake ${PROJECT_BINARY_DIR}/reprise-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
if(TARGET reprise_tool)
  install(TARGETS reprise_tool DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
