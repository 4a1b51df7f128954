# Settings of our own builds; a project that adds ipybox as a subdirectory is not touched by them.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(IPYBOX_CCACHE ccache)
mark_as_advanced(IPYBOX_CCACHE)
if(IPYBOX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${IPYBOX_CCACHE}")
endif()

# Programs with a sanitizer are large: LLVM's linker takes a sixth of the time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(IPYBOX_LLD ld.lld-19)
  mark_as_advanced(IPYBOX_LLD)
  if(IPYBOX_LLD)
    add_link_options("--ld-path=${IPYBOX_LLD}")
  endif()
endif()

# Warnings and sanitizers, linked by everything that is built here.
add_library(ipybox_options INTERFACE)
target_compile_options(ipybox_options INTERFACE
  -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual -Wconversion -Wno-sign-conversion
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>
  -fdiagnostics-color=always
  # GCC 12 sees overlaps in std::string that are not there (GCC bug 105651)
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # GCC looks for garbage from 128 MB on; most of our sources need no more than 1 GB in all
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)

if(IPYBOX_SANITIZE STREQUAL "address")
  set(ipybox_sanitizer -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:Clang>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/tests/ubsan.ignore>)
elseif(IPYBOX_SANITIZE STREQUAL "thread")
  set(ipybox_sanitizer -fsanitize=thread)
  # Asio's fences are invisible to TSan; without them it uses what TSan knows
  target_compile_definitions(ipybox_options INTERFACE ASIO_DISABLE_FENCED_BLOCK)
elseif(IPYBOX_SANITIZE)
  message(FATAL_ERROR "IPYBOX_SANITIZE is 'address' or 'thread', not '${IPYBOX_SANITIZE}'")
endif()
if(IPYBOX_SANITIZE)
  target_compile_options(ipybox_options INTERFACE ${ipybox_sanitizer})
  target_link_options(ipybox_options INTERFACE ${ipybox_sanitizer})
endif()
