# cmake --install: the public headers, one archive, and a package for find_package(reprise CONFIG).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS reprise EXPORT reprise_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/reprise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT reprise_targets NAMESPACE reprise:: FILE reprise-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
configure_package_config_file(cmake/reprise-config.cmake.in ${PROJECT_BINARY_DIR}/reprise-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/reprise-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/reprise-config.cmake ${PROJECT_BINARY_DIR}/reprise-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
if(TARGET reprise_tool)
  install(TARGETS reprise_tool DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
