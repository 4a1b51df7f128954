# IPYBOX_FETCH_DEPS: downloads the libraries that are not found, and makes the targets that ipyboxDependencies.cmake looks for.
# Header-only ones are used as they are, without their own CMake projects. OpenSSL has to be installed.
#   FETCHCONTENT_TRY_FIND_PACKAGE_MODE=NEVER   downloads also what is installed
#   FETCHCONTENT_SOURCE_DIR_<NAME>=DIR         uses a source tree on this machine (names: ASIO, NLOHMANN_JSON, TL-EXPECTED, HTTP_PARSER, LIBZMQ, CPPZMQ)
include(FetchContent)

# SOURCE_SUBDIR names a folder that does not exist: then FetchContent adds no project.
set(ipybox_sources_alone SOURCE_SUBDIR ipybox-adds-no-project)

FetchContent_Declare(nlohmann_json
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
  ${ipybox_sources_alone}
  FIND_PACKAGE_ARGS 3.11 CONFIG QUIET)
FetchContent_Declare(tl-expected
  URL https://github.com/TartanLlama/expected/archive/refs/tags/v1.1.0.tar.gz
  URL_HASH SHA256=1db357f46dd2b24447156aaf970c4c40a793ef12a8a9c2ad9e096d9801368df6
  ${ipybox_sources_alone}
  FIND_PACKAGE_ARGS CONFIG QUIET)
FetchContent_Declare(asio
  URL https://github.com/chriskohlhoff/asio/archive/asio-1-30-2.tar.gz
  URL_HASH SHA256=755bd7f85a4b269c67ae0ea254907c078d408cce8e1a352ad2ed664d233780e8
  ${ipybox_sources_alone}
  FIND_PACKAGE_ARGS CONFIG QUIET)
FetchContent_Declare(http_parser
  URL https://github.com/nodejs/http-parser/archive/v2.9.4.tar.gz
  URL_HASH SHA256=467b9e30fd0979ee301065e70f637d525c28193449e1b13fbcb1b1fab3ad224f
  ${ipybox_sources_alone}
  FIND_PACKAGE_ARGS CONFIG QUIET)
FetchContent_Declare(cppzmq
  URL https://github.com/zeromq/cppzmq/archive/refs/tags/v4.10.0.tar.gz
  URL_HASH SHA256=c81c81bba8a7644c84932225f018b5088743a22999c6d82a2b5f5cd1e6942b74
  ${ipybox_sources_alone}
  FIND_PACKAGE_ARGS 4.9 CONFIG QUIET)
FetchContent_Declare(libzmq
  URL https://github.com/zeromq/libzmq/releases/download/v4.3.5/zeromq-4.3.5.tar.gz
  URL_HASH SHA256=6653ef5910f17954861fe72332e68b03ca6e4d9c7160eb3a8de5a5a913bfab43
  SYSTEM)

# Makes a target of the headers in the first of the folders that exists.
function(ipybox_headers_target name)
  foreach(folder IN LISTS ARGN)
    if(EXISTS "${folder}")
      add_library(${name} INTERFACE IMPORTED GLOBAL)
      set_target_properties(${name} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${folder}")
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "IPYBOX_FETCH_DEPS: the sources for ${name} have none of the folders ${ARGN}; "
    "set FETCHCONTENT_SOURCE_DIR_… to a complete source tree")
endfunction()

if(NOT TARGET nlohmann_json::nlohmann_json)
  FetchContent_MakeAvailable(nlohmann_json)
  if(NOT TARGET nlohmann_json::nlohmann_json)
    ipybox_headers_target(nlohmann_json::nlohmann_json "${nlohmann_json_SOURCE_DIR}/include")
  endif()
endif()

if(NOT TARGET tl::expected)
  FetchContent_MakeAvailable(tl-expected)
  if(NOT TARGET tl::expected)
    ipybox_headers_target(tl::expected "${tl-expected_SOURCE_DIR}/include")
  endif()
endif()

# Distributions have headers without a CMake package: ipyboxDependencies.cmake finds them.
set(ipybox_asio_is_installed OFF)
set(ipybox_http_parser_is_installed OFF)
if(NOT FETCHCONTENT_TRY_FIND_PACKAGE_MODE STREQUAL "NEVER")
  find_path(IPYBOX_ASIO_INCLUDE_DIR NAMES asio/awaitable.hpp DOC "Where asio.hpp of standalone Asio is")
  find_path(IPYBOX_HTTP_PARSER_INCLUDE_DIR NAMES http_parser.h DOC "Where http_parser.h is")
  find_library(IPYBOX_HTTP_PARSER_LIBRARY NAMES http_parser DOC "The library http_parser")
  if(IPYBOX_ASIO_INCLUDE_DIR)
    set(ipybox_asio_is_installed ON)
  endif()
  if(IPYBOX_HTTP_PARSER_INCLUDE_DIR AND IPYBOX_HTTP_PARSER_LIBRARY)
    set(ipybox_http_parser_is_installed ON)
  endif()
endif()

if(NOT TARGET asio::asio AND NOT ipybox_asio_is_installed)
  FetchContent_MakeAvailable(asio)
  if(NOT TARGET asio::asio)
    # its headers are in include/ from 1.38 on
    ipybox_headers_target(asio::asio "${asio_SOURCE_DIR}/asio/include" "${asio_SOURCE_DIR}/include")
  endif()
endif()

if(NOT TARGET http_parser::http_parser AND NOT ipybox_http_parser_is_installed)
  FetchContent_MakeAvailable(http_parser)
  if(NOT TARGET http_parser::http_parser)
    enable_language(C)
    add_library(ipybox_http_parser STATIC EXCLUDE_FROM_ALL "${http_parser_SOURCE_DIR}/http_parser.c")
    set_target_properties(ipybox_http_parser PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(ipybox_http_parser SYSTEM INTERFACE "${http_parser_SOURCE_DIR}")
    target_compile_options(ipybox_http_parser PRIVATE -w) # its warnings are not those of the project that uses ipybox
    add_library(http_parser::http_parser ALIAS ipybox_http_parser)
  endif()
endif()

if(IPYBOX_ZMQ AND NOT TARGET cppzmq)
  FetchContent_MakeAvailable(cppzmq)
  if(NOT TARGET cppzmq)
    if(NOT TARGET libzmq-static AND NOT TARGET libzmq)
      set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # its option() takes the values that follow
      set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
      set(BUILD_SHARED OFF)
      set(BUILD_TESTS OFF)
      set(ZMQ_BUILD_TESTS OFF)
      set(WITH_PERF_TOOL OFF)
      set(WITH_DOCS OFF)
      set(ENABLE_CPACK OFF)
      FetchContent_MakeAvailable(libzmq)
      set_property(DIRECTORY "${libzmq_SOURCE_DIR}" PROPERTY EXCLUDE_FROM_ALL ON)
      unset(BUILD_SHARED)
      unset(BUILD_TESTS)
      unset(ENABLE_CPACK)
      unset(CMAKE_POLICY_DEFAULT_CMP0077)
      unset(CMAKE_POLICY_VERSION_MINIMUM)
    endif()
    ipybox_headers_target(cppzmq "${cppzmq_SOURCE_DIR}")
    set_property(TARGET cppzmq PROPERTY INTERFACE_LINK_LIBRARIES
      $<IF:$<TARGET_EXISTS:libzmq-static>,libzmq-static,libzmq>)
    add_library(cppzmq-static ALIAS cppzmq)
  endif()
endif()
