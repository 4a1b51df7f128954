# IPYBOX_INSTALL_COMPILED: ipybox::ipybox as a library that is compiled, static or (BUILD_SHARED_LIBS) shared. What it was compiled with goes along:
# ipybox/core/config.hpp compares it in every source file that includes ipybox.
set(ipybox_compiled_with ASIO JSON_MAJOR JSON_MINOR JSON_PATCH JSON_DIAGNOSTICS CXX11_ABI GLIBCXX_DEBUG LIBCXX)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/compiled_with.cpp" [[
#include <asio/version.hpp>
#include <nlohmann/json_fwd.hpp>
#include <version>
#ifdef _GLIBCXX_DEBUG
#define GLIBCXX_DEBUG 1
#else
#define GLIBCXX_DEBUG 0
#endif
#ifdef _LIBCPP_VERSION
#define LIBCXX 1
#else
#define LIBCXX 0
#endif
#if defined(JSON_DIAGNOSTICS) && JSON_DIAGNOSTICS
#define DIAGNOSTICS 1
#else
#define DIAGNOSTICS 0
#endif
#ifndef _GLIBCXX_USE_CXX11_ABI
#define _GLIBCXX_USE_CXX11_ABI 0
#endif
#define AS_TEXT(x) #x
#define TEXT(x) AS_TEXT(x)
extern char const ipybox_compiled_with[];
char const ipybox_compiled_with[] =
    "compiled with [" TEXT(ASIO_VERSION) "," TEXT(NLOHMANN_JSON_VERSION_MAJOR) "," TEXT(NLOHMANN_JSON_VERSION_MINOR) ","
    TEXT(NLOHMANN_JSON_VERSION_PATCH) "," TEXT(DIAGNOSTICS) "," TEXT(_GLIBCXX_USE_CXX11_ABI) "," TEXT(GLIBCXX_DEBUG) "," TEXT(LIBCXX) "]";
]])
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
try_compile(ipybox_compiled_with_known "${CMAKE_CURRENT_BINARY_DIR}/compiled_with" "${CMAKE_CURRENT_BINARY_DIR}/compiled_with.cpp"
  LINK_LIBRARIES ipybox::asio nlohmann_json::nlohmann_json
  CXX_STANDARD 20
  OUTPUT_VARIABLE output
  COPY_FILE "${CMAKE_CURRENT_BINARY_DIR}/compiled_with.a")
unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
if(NOT ipybox_compiled_with_known)
  message(FATAL_ERROR "could not find out which Asio and nlohmann/json ipybox is compiled with:\n${output}")
endif()
file(STRINGS "${CMAKE_CURRENT_BINARY_DIR}/compiled_with.a" text REGEX "compiled with \\[")
string(REGEX REPLACE ".*compiled with \\[([0-9,]+)\\].*" "\\1" text "${text}")
string(REPLACE "," ";" ipybox_values "${text}")
foreach(name value IN ZIP_LISTS ipybox_compiled_with ipybox_values)
  target_compile_definitions(ipybox INTERFACE $<INSTALL_INTERFACE:IPYBOX_COMPILED_${name}=${value}>)
endforeach()

set(ipybox_installed_libraries ipybox)
install(TARGETS ipybox EXPORT ipyboxLibraryTargets COMPONENT development)
install(EXPORT ipyboxLibraryTargets NAMESPACE ipybox:: DESTINATION "${IPYBOX_CMAKE_DIR}" COMPONENT development)
foreach(component IN ITEMS Zmq Http)
  string(TOLOWER ${component} name)
  if(TARGET ipybox_${name})
    list(APPEND ipybox_installed_libraries ipybox_${name})
    set_target_properties(ipybox_${name} PROPERTIES EXPORT_NAME ${name})
    install(TARGETS ipybox_${name} EXPORT ipybox${component}Targets COMPONENT development)
    install(EXPORT ipybox${component}Targets NAMESPACE ipybox:: DESTINATION "${IPYBOX_CMAKE_DIR}" COMPONENT development)
  endif()
endforeach()
set_target_properties(${ipybox_installed_libraries} PROPERTIES
  EXCLUDE_FROM_ALL OFF
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
