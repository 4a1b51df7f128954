# Headers, the CMake package and, where it is built, the program with its completions and its manual page.
# Two components: "development" and "program".
include(CMakePackageConfigHelpers)

set_target_properties(ipybox_header_only PROPERTIES EXPORT_NAME header_only)
install(TARGETS ipybox_header_only EXPORT ipyboxTargets
  FILE_SET HEADERS COMPONENT development
  FILE_SET bodies COMPONENT development)
install(EXPORT ipyboxTargets NAMESPACE ipybox:: DESTINATION "${IPYBOX_CMAKE_DIR}" COMPONENT development)

if(IPYBOX_INSTALL_COMPILED)
  include(cmake/ipyboxInstallLibrary.cmake)
endif()

configure_package_config_file(cmake/ipyboxConfig.cmake.in ipyboxConfig.cmake
  INSTALL_DESTINATION "${IPYBOX_CMAKE_DIR}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR
  NO_SET_AND_CHECK_MACRO)
if(IPYBOX_INSTALL_COMPILED)
  write_basic_package_version_file(ipyboxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
else()
  write_basic_package_version_file(ipyboxConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
endif()
install(
  FILES
    "${CMAKE_CURRENT_BINARY_DIR}/ipyboxConfig.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/ipyboxConfigVersion.cmake"
    cmake/ipyboxDependencies.cmake
    cmake/ipyboxLibrary.cmake
  DESTINATION "${IPYBOX_CMAKE_DIR}"
  COMPONENT development)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/licenses/ipybox" COMPONENT development)

if(TARGET ipybox_cli)
  install(TARGETS ipybox_cli RUNTIME COMPONENT program)
  get_target_property(ipybox_pages ipybox_cli IPYBOX_PAGES)
  if(ipybox_pages)
    install(FILES "${ipybox_pages}/ipybox" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT program)
    install(FILES "${ipybox_pages}/_ipybox" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT program)
    install(FILES "${ipybox_pages}/ipybox.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT program)
    install(FILES "${ipybox_pages}/ipybox.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT program)
  endif()
endif()

if(PROJECT_IS_TOP_LEVEL)
  include(cmake/ipyboxPackages.cmake)
endif()
