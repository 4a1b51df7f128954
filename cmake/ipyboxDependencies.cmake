# Finds the libraries that ipybox needs. Used by the build and, installed, by find_package(ipybox).
# Targets that the including project has made already (FetchContent, add_subdirectory) are taken as they are.
# IPYBOX_WANT_ZMQ, IPYBOX_WANT_HTTP: also those of the components zmq and http.
include(CMakeFindDependencyMacro)

find_dependency(Threads)

# Asio: vcpkg and Conan ship a config package, distributions the headers alone.
if(NOT TARGET ipybox::asio)
  if(NOT TARGET asio::asio)
    find_package(asio CONFIG QUIET)
  endif()
  if(NOT TARGET asio::asio)
    find_path(IPYBOX_ASIO_INCLUDE_DIR NAMES asio/awaitable.hpp DOC "Where asio.hpp of standalone Asio is")
    mark_as_advanced(IPYBOX_ASIO_INCLUDE_DIR)
    if(NOT IPYBOX_ASIO_INCLUDE_DIR)
      set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
      set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE
          "ipybox needs standalone Asio >= 1.22 (Debian: libasio-dev, Conan: asio, vcpkg: asio)")
      return()
    endif()
  endif()
  add_library(ipybox::asio INTERFACE IMPORTED)
  set_target_properties(ipybox::asio PROPERTIES
    INTERFACE_COMPILE_DEFINITIONS ASIO_STANDALONE
    INTERFACE_LINK_LIBRARIES "Threads::Threads;$<TARGET_NAME_IF_EXISTS:asio::asio>")
  if(NOT TARGET asio::asio)
    set_target_properties(ipybox::asio PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${IPYBOX_ASIO_INCLUDE_DIR}")
    # Asio before 1.26 takes Clang for having no coroutines
    file(STRINGS "${IPYBOX_ASIO_INCLUDE_DIR}/asio/version.hpp" _ipybox_asio REGEX "define ASIO_VERSION [0-9]+")
    if(_ipybox_asio MATCHES "ASIO_VERSION ([0-9]+)" AND CMAKE_MATCH_1 LESS 102600)
      set_property(TARGET ipybox::asio APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS
        $<$<CXX_COMPILER_ID:Clang,AppleClang>:ASIO_HAS_CO_AWAIT=1>
        $<$<CXX_COMPILER_ID:Clang,AppleClang>:ASIO_HAS_STD_COROUTINE=1>)
    endif()
    unset(_ipybox_asio)
  endif()
endif()

if(NOT TARGET nlohmann_json::nlohmann_json)
  find_dependency(nlohmann_json 3.11 CONFIG)
endif()
if(NOT TARGET tl::expected)
  find_dependency(tl-expected CONFIG)
endif()
if(NOT TARGET OpenSSL::Crypto)
  find_dependency(OpenSSL COMPONENTS Crypto)
endif()

# http_parser: Conan has a config package, distributions and vcpkg a header and a library.
if(NOT TARGET ipybox::http_parser)
  if(NOT TARGET http_parser::http_parser)
    find_package(http_parser CONFIG QUIET)
  endif()
  if(NOT TARGET http_parser::http_parser)
    find_path(IPYBOX_HTTP_PARSER_INCLUDE_DIR NAMES http_parser.h DOC "Where http_parser.h is")
    find_library(IPYBOX_HTTP_PARSER_LIBRARY NAMES http_parser DOC "The library http_parser")
    mark_as_advanced(IPYBOX_HTTP_PARSER_INCLUDE_DIR IPYBOX_HTTP_PARSER_LIBRARY)
    if(NOT IPYBOX_HTTP_PARSER_INCLUDE_DIR OR NOT IPYBOX_HTTP_PARSER_LIBRARY)
      set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
      set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE
          "ipybox needs http_parser >= 2.9 (Debian: libhttp-parser-dev, Conan: http_parser, vcpkg: http-parser)")
      return()
    endif()
  endif()
  add_library(ipybox::http_parser INTERFACE IMPORTED)
  if(TARGET http_parser::http_parser)
    set_property(TARGET ipybox::http_parser PROPERTY INTERFACE_LINK_LIBRARIES http_parser::http_parser)
  else()
    set_target_properties(ipybox::http_parser PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${IPYBOX_HTTP_PARSER_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "${IPYBOX_HTTP_PARSER_LIBRARY}")
  endif()
endif()

# cppzmq exports two targets whichever libzmq there is; take the one that can link.
if(IPYBOX_WANT_ZMQ AND NOT TARGET ipybox::cppzmq)
  if(NOT TARGET cppzmq)
    find_dependency(cppzmq CONFIG)
  endif()
  add_library(ipybox::cppzmq INTERFACE IMPORTED)
  if(TARGET libzmq-static AND NOT TARGET libzmq)
    set_property(TARGET ipybox::cppzmq PROPERTY INTERFACE_LINK_LIBRARIES cppzmq-static)
  else()
    set_property(TARGET ipybox::cppzmq PROPERTY INTERFACE_LINK_LIBRARIES cppzmq)
  endif()
  # A program that uses nothing of it does not load ZeroMQ: with the eleven libraries behind it, that would cost 1.3 MB a process.
  # Ubuntu and Fedora link like this by themselves.
  set_property(TARGET ipybox::cppzmq PROPERTY INTERFACE_LINK_OPTIONS $<$<PLATFORM_ID:Linux>:LINKER:--as-needed>)
endif()

# libcurl. A shared one is loaded with the first request: with the thirty libraries behind it, that would take each start of a
# program ten milliseconds.
if(IPYBOX_WANT_HTTP AND NOT TARGET ipybox::curl)
  if(NOT TARGET CURL::libcurl)
    find_dependency(CURL) # its package has versions that exclude each other: none is asked for
  endif()
  add_library(ipybox::curl INTERFACE IMPORTED)
  get_target_property(_ipybox_curl_type CURL::libcurl TYPE)
  get_target_property(_ipybox_curl_file CURL::libcurl IMPORTED_LOCATION)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND (_ipybox_curl_type STREQUAL "SHARED_LIBRARY" OR _ipybox_curl_file MATCHES "\\.so$"))
    set_target_properties(ipybox::curl PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES $<TARGET_PROPERTY:CURL::libcurl,INTERFACE_INCLUDE_DIRECTORIES>
      INTERFACE_COMPILE_DEFINITIONS IPYBOX_CURL_ON_DEMAND
      INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
  else()
    set_property(TARGET ipybox::curl PROPERTY INTERFACE_LINK_LIBRARIES CURL::libcurl)
  endif()
  unset(_ipybox_curl_type)
  unset(_ipybox_curl_file)
endif()
