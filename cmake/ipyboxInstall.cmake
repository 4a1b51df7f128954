# Headers, the CMake package and, where it is built, the program.
include(CMakePackageConfigHelpers)

install(TARGETS ipybox EXPORT ipyboxTargets FILE_SET HEADERS FILE_SET bodies)
install(EXPORT ipyboxTargets NAMESPACE ipybox:: DESTINATION "${IPYBOX_CMAKE_DIR}")

configure_package_config_file(cmake/ipyboxConfig.cmake.in ipyboxConfig.cmake
  INSTALL_DESTINATION "${IPYBOX_CMAKE_DIR}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(ipyboxConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(
  FILES
    "${CMAKE_CURRENT_BINARY_DIR}/ipyboxConfig.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/ipyboxConfigVersion.cmake"
    cmake/ipyboxDependencies.cmake
    cmake/ipyboxCompiled.cmake
  DESTINATION "${IPYBOX_CMAKE_DIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/licenses/ipybox")

if(TARGET ipybox_cli)
  install(TARGETS ipybox_cli RUNTIME)
endif()
