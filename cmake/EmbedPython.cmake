# Writes Python (SOURCE_DIR/*.py) as a C++ header (OUTPUT), either what runs in the sandbox or what generated packages are made of:
#
#   cmake -D SOURCE_DIR=python/ipybox_kernel -D OUTPUT=include/ipybox/kernel/runtime_source.hpp -P EmbedPython.cmake
#   cmake -D SOURCE_DIR=python/mcp_support -D OUTPUT=include/ipybox/codegen/support_source.hpp -P EmbedPython.cmake
#
# With -D CHECK=ON nothing is written: it fails when OUTPUT is not what would be written.

cmake_minimum_required(VERSION 3.25)

set(piece_limit 15000)  # bytes of one literal: compilers limit a single piece to 16 KiB
set(text_limit 65535)   # bytes of adjacent literals together: what every compiler has to accept

# A std::string_view in braces: adjacent raw string literals, cut at ends of lines, and how many bytes they have, which compilers
# would otherwise count one by one.
function(as_literals text result)
  if(text MATCHES "\\)py\"")
    message(FATAL_ERROR "the text contains the delimiter of the raw strings: )py\"")
  endif()
  set(literals "")
  string(LENGTH "${text}" rest)
  set(length "${rest}")
  while(rest GREATER piece_limit)
    string(SUBSTRING "${text}" 0 ${piece_limit} piece)
    string(FIND "${piece}" "\n" cut REVERSE)
    math(EXPR cut "${cut} + 1")
    string(SUBSTRING "${text}" 0 ${cut} piece)
    string(SUBSTRING "${text}" ${cut} -1 text)
    string(APPEND literals "R\"py(${piece})py\"\n")
    string(LENGTH "${text}" rest)
  endwhile()
  set(${result} "{${literals}R\"py(${text})py\", ${length}}" PARENT_SCOPE)
endfunction()

function(read_module file result)
  file(READ "${file}" text)
  string(LENGTH "${text}" length)
  if(length GREATER text_limit)
    message(FATAL_ERROR "${file} has ${length} bytes, more than a string literal may have (${text_limit}): split it")
  endif()
  as_literals("${text}" literals)
  set(${result} "${literals}" PARENT_SCOPE)
endfunction()

file(GLOB files "${SOURCE_DIR}/*.py")
list(SORT files)
set(table "")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME_WE)
  read_module("${file}" literals)
  set(text_of_${name} "${literals}")
  if(name MATCHES "^_")
    string(APPEND table "{\"${name}.py\", ${literals}},\n")
  elseif(NOT name MATCHES "^(boot|installer|mcptools)$")
    string(APPEND table "{\"${name}\", ${literals}},\n")
  endif()
endforeach()
if(table STREQUAL "")
  message(FATAL_ERROR "there is no module in ${SOURCE_DIR}")
endif()

set(keeper "{}")
if(EXISTS "${SOURCE_DIR}/keeper.sh")
  read_module("${SOURCE_DIR}/keeper.sh" keeper)
endif()

set(runtime_declarations "namespace ipybox::detail {

/// A module of the Python package that the supervisor runs; `name` is without \".py\".
struct runtime_module {
    std::string_view name;
    std::string_view text;
};

/// What the interpreter is started with: makes the modules importable and hands over to the supervisor.
inline constexpr std::string_view runtime_boot${text_of_boot};

/// The script that the system's shell runs as the supervisor's parent, unless the supervisor is the first process of a pid namespace.
inline constexpr std::string_view runtime_keeper${keeper};

/// The program that installs packages, in a sandbox of its own.
inline constexpr std::string_view runtime_installer${text_of_installer};

inline constexpr runtime_module runtime_modules[] = {
${table}};

} // namespace ipybox::detail")

set(support_declarations "namespace ipybox::codegen::detail {

/// A file that every generated package has.
struct support_file {
    std::string_view name;
    std::string_view text;
};

inline constexpr support_file package_support[] = {
${table}};

/// `__init__.py` of the directory that the packages are in.
inline constexpr std::string_view root_index${text_of_mcptools};

} // namespace ipybox::codegen::detail")

get_filename_component(package "${SOURCE_DIR}" NAME)
if(package STREQUAL "mcp_support")
  set(declarations "${support_declarations}")
else()
  set(declarations "${runtime_declarations}")
endif()
set(header "// Written by cmake/EmbedPython.cmake from python/${package}: change it there, then build the target runtime_source.
// clang-format off
#pragma once

#include <string_view>

${declarations}
// clang-format on
")

set(current "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" current)
endif()
if(current STREQUAL header)
  return()
endif()
if(CHECK)
  message(FATAL_ERROR "${OUTPUT} is stale: build the target runtime_source (./dev embed) and commit it")
endif()
file(WRITE "${OUTPUT}" "${header}")
message(STATUS "wrote ${OUTPUT}")
