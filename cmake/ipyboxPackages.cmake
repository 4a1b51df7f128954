# `cpack` in the build directory makes two Debian packages: ipybox, with the program, and libipybox-dev, with the library.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ipybox)
set(CPACK_PACKAGE_VENDOR "the ipybox authors")
set(CPACK_PACKAGE_CONTACT "the ipybox authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/ipyboxCompressManual.cmake")
set(CPACK_COMPONENTS_ALL development)
if(TARGET ipybox_cli)
  list(APPEND CPACK_COMPONENTS_ALL program)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME ipybox)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "bubblewrap, libcurl4 | libcurl4t64, python3 (>= 3.10), python3-venv")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"The program ipybox runs scripts and notebooks, and serves a sandboxed Python to
language models over MCP. The interpreter needs ipykernel >= 6.29, which Debian 12
does not have: install it with pip into a virtual environment.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libipybox-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libasio-dev (>= 1:1.22), nlohmann-json3-dev (>= 3.11), libexpected-dev, libhttp-parser-dev (>= 2.9), libssl-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "bubblewrap, cmake (>= 3.25)")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "cppzmq-dev, libzmq3-dev, libcurl4-openssl-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"A C++20 library, compiled and as headers, with a CMake package:
find_package(ipybox). Its component zmq needs cppzmq-dev, and http
libcurl4-openssl-dev.")

# The licence is where Debian looks for it.
foreach(package IN ITEMS program:ipybox development:libipybox-dev)
  string(REPLACE ":" ";" package ${package})
  list(GET package 0 component)
  list(GET package 1 name)
  install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}" RENAME copyright COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
