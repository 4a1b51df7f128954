# Functions of tests/CMakeLists.txt.

find_package(Catch2 3 CONFIG QUIET)
if(NOT Catch2_FOUND)
  find_package(Catch2 2.13 CONFIG REQUIRED)
endif()
include(Catch)

# The sources of a folder; in a ThreadSanitizer build only those with a case tagged [tsan].
function(ipybox_test_sources folder result)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  if(IPYBOX_SANITIZE STREQUAL "thread")
    foreach(source IN LISTS sources)
      file(STRINGS ${source} tagged REGEX "\\[tsan\\]")
      if(NOT tagged)
        list(REMOVE_ITEM sources ${source})
      endif()
    endforeach()
  endif()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# What is tested is optimised where the preset says so; the tests themselves are read by compilers alone. Without optimisation GCC
# would make functions of std::move and its like, and call them.
function(ipybox_compile_quickly target)
  target_compile_options(${target} PRIVATE
    $<$<CONFIG:Release,RelWithDebInfo>:-O0> $<$<CXX_COMPILER_ID:GNU>:-ffold-simple-inlines>)
endfunction()

# Catch2, JSON and most of Asio, read once for all test programs: Clang needs a quarter less time for a small one, GCC gains
# nothing. Where sources are compiled by themselves (CMAKE_UNITY_BUILD off) each has to include what it needs.
function(ipybox_precompile_headers target)
  if(NOT CMAKE_UNITY_BUILD OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  if(NOT TARGET test_headers)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(test_headers OBJECT EXCLUDE_FROM_ALL ${source})
    ipybox_set_test_options(test_headers)
    target_precompile_headers(test_headers PRIVATE
      <support/catch.hpp> <nlohmann/json.hpp> <asio/bind_cancellation_slot.hpp> <asio/co_spawn.hpp> <asio/io_context.hpp>
      <asio/steady_timer.hpp> <asio/use_awaitable.hpp> <asio/use_future.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM test_headers)
endfunction()

# What all test programs are compiled with.
function(ipybox_set_test_options target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE
    IPYBOX_TEST_PYTHON="${IPYBOX_TEST_PYTHON}" IPYBOX_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ipybox_local
    $<IF:$<TARGET_EXISTS:Catch2::Catch2WithMain>,Catch2::Catch2WithMain,Catch2::Catch2>)
  ipybox_compile_quickly(${target})
  # In a unity build the sources are included, and GCC takes their frames of coroutines for those of a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  # ccache takes a precompiled header for the same one by what is in it.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# Catch2 2 ends well where no case has the name that it is asked for: one with a ";", say, comes apart in CMake's lists.
set(ipybox_fails_without_cases FAIL_REGULAR_EXPRESSION "No test cases matched")

# One Catch2 program of all sources in the FOLDERS; its cases become ctest tests NAME: CASE with the label LABEL.
function(ipybox_add_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "FOLDERS")
  set(sources)
  foreach(folder IN LISTS arg_FOLDERS)
    ipybox_test_sources(${folder} found)
    list(APPEND sources ${found})
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  ipybox_set_test_options(${name})
  ipybox_precompile_headers(${name})
  if(IPYBOX_SANITIZE STREQUAL "address" AND arg_LABEL STREQUAL "fast")
    ipybox_add_tests_of_sources(${name} ${sources})
    return()
  endif()
  if(IPYBOX_SANITIZE STREQUAL "thread")
    set(spec TEST_SPEC "[tsan]")
  elseif(IPYBOX_SANITIZE)
    set(spec TEST_SPEC "~[large]")
  endif()
  catch_discover_tests(${name} ${spec}
    TEST_PREFIX "${name}: "
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT 120 ${ipybox_fails_without_cases})
  # Of a property that is a list, catch_discover_tests would set the first element alone.
  set(environment ${CMAKE_CURRENT_BINARY_DIR}/${name}_environment.cmake)
  file(WRITE ${environment}
    "if(${name}_TESTS)\n"
    "  set_tests_properties(\${${name}_TESTS} PROPERTIES ENVIRONMENT_MODIFICATION [==[${ipybox_test_environment}]==])\n"
    "endif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${environment})
endfunction()

# The cases of each source in one process: under AddressSanitizer a process takes longer to begin and to end than most cases.
# Sources of different rooms that have the same name are one test; those with nothing but large cases have none.
function(ipybox_add_tests_of_sources name)
  set(stems)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} cases REGEX "TEST_CASE")
    file(STRINGS ${source} large REGEX "\\[large\\]")
    list(LENGTH cases cases)
    list(LENGTH large large)
    if(cases GREATER large)
      cmake_path(GET source STEM stem)
      list(APPEND stems ${stem})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES stems)
  foreach(stem IN LISTS stems)
    add_test(NAME "${name}: ${stem}" COMMAND ${name} --filenames-as-tags "[#${stem}]~[large]")
    set_tests_properties("${name}: ${stem}" PROPERTIES
      LABELS fast TIMEOUT 300 ENVIRONMENT_MODIFICATION "${ipybox_test_environment}"
      ${ipybox_fails_without_cases})
  endforeach()
endfunction()

# A name of one room is seen in the next ones. A library, for its options come behind those of others.
add_library(joined_unit_tests INTERFACE)
target_compile_options(joined_unit_tests INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)

# One program of the unit tests of these rooms, which are done then.
function(ipybox_add_unit_tests name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/unit/ OUTPUT_VARIABLE folders)
  ipybox_add_test_program(${name} FOLDERS ${folders} LABEL fast)
  if(TARGET ${name})
    add_dependencies(unit_tests ${name})
    if(IPYBOX_JOIN_UNIT_TESTS OR IPYBOX_HEADER_ONLY_TESTS)
      target_link_libraries(${name} PRIVATE joined_unit_tests)
    endif()
  endif()
  list(REMOVE_ITEM rooms ${ARGN})
  set(rooms ${rooms} PARENT_SCOPE)
endfunction()

# The cases of a program tagged [compat], once more with the oldest and the newest interpreter. The newest one has the ipykernel of
# the main one, so that it says the same over ZeroMQ, but for what is about ZeroMQ itself.
function(ipybox_add_compat_runs name)
  if(NOT TARGET ${name})
    return()
  endif()
  foreach(python IN LISTS ipybox_edge_pythons)
    ipybox_interpreter_name(${python} interpreter)
    set(cases "[compat]")
    if(NOT interpreter STREQUAL "oldest")
      string(APPEND cases "~* - zmq_transport")
    endif()
    add_test(NAME ${name}.${interpreter} COMMAND ${name} "${cases}")
    set_tests_properties(${name}.${interpreter} PROPERTIES
      LABELS "kernel;compat" TIMEOUT 600 COST 200 ${ipybox_fails_without_cases}
      ENVIRONMENT_MODIFICATION "${ipybox_test_environment};IPYBOX_TEST_PYTHON=set:${python}")
  endforeach()
endfunction()

# A pytest suite of this folder, which runs the program: NAME.suite, with the label NAME. FILES: those of its files; else all.
function(ipybox_add_program_suite name)
  if(NOT TARGET ipybox_cli)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 suite "" "COST" "ENVIRONMENT;FILES")
  list(TRANSFORM suite_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  if(NOT suite_FILES)
    set(suite_FILES ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  add_test(NAME ${name}.suite
    COMMAND ${IPYBOX_TEST_PYTHON} -m pytest -q --durations=10 -p no:cacheprovider ${suite_FILES}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(environment ${ipybox_test_environment} "IPYBOX_BINARY=set:$<TARGET_FILE:ipybox_cli>" "IPYBOX_PYTHON=set:${IPYBOX_TEST_PYTHON}"
    ${suite_ENVIRONMENT})
  set_tests_properties(${name}.suite PROPERTIES
    LABELS "${name};kernel" TIMEOUT 2400 COST ${suite_COST} ENVIRONMENT_MODIFICATION "${environment}")
endfunction()

# …/.venvs/py310/bin/python -> py310
function(ipybox_interpreter_name python result)
  cmake_path(GET python PARENT_PATH folder)
  cmake_path(GET folder PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# A test that has the compiler read a source, with further FLAGS, as one that uses the compiled library.
function(ipybox_add_syntax_test name source)
  add_test(NAME ${name}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only ${ARGN}
      "-D$<JOIN:$<TARGET_PROPERTY:ipybox_zmq,INTERFACE_COMPILE_DEFINITIONS>,;-D>"
      "-I$<JOIN:$<TARGET_PROPERTY:ipybox_zmq,INTERFACE_INCLUDE_DIRECTORIES>,;-I>"
      ${source}
    COMMAND_EXPAND_LISTS)
endfunction()

# Programs that must not compile. The first line of each, `// expect: …`, is what the compiler has to say; a second one, `// flags: …`,
# has flags for it.
function(ipybox_add_compile_failures folder)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    file(STRINGS ${source} head LIMIT_COUNT 2)
    list(GET head 0 sentence)
    if(NOT sentence MATCHES "^// expect: (.+)$")
      message(FATAL_ERROR "${source} does not begin with '// expect: '")
    endif()
    string(REGEX REPLACE "([][+.*()^$?|\\\\])" "\\\\\\1" sentence "${CMAKE_MATCH_1}")

    set(flags)
    if(head MATCHES "// flags: ([^;]+)")
      separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_1}")
    endif()
    ipybox_add_syntax_test(compile.${name} ${source} ${flags})
    set_tests_properties(compile.${name} PROPERTIES
      LABELS compile TIMEOUT 300 PASS_REGULAR_EXPRESSION "${sentence}")
  endforeach()
endfunction()

# Every header compiles alone, twice in a row: without their bodies, or each would compile half the library again; bodies are the
# unit tests' matter.
function(ipybox_add_headers_alone)
  add_library(headers_alone INTERFACE)
  target_link_libraries(headers_alone INTERFACE ipybox_zmq_header_only
    $<TARGET_NAME_IF_EXISTS:ipybox_http_header_only> $<TARGET_NAME_IF_EXISTS:ipybox_options>)
  target_compile_definitions(headers_alone INTERFACE IPYBOX_SEPARATE_COMPILATION)
  add_test(NAME headers_alone
    COMMAND ${IPYBOX_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/headers_alone.py ${CMAKE_CURRENT_BINARY_DIR}/headers_alone
      ${CMAKE_CXX_COMPILER} -std=c++20 $<$<BOOL:${CMAKE_COMPILE_WARNING_AS_ERROR}>:-Werror>
      $<TARGET_PROPERTY:headers_alone,INTERFACE_COMPILE_OPTIONS>
      "-D$<JOIN:$<TARGET_PROPERTY:headers_alone,INTERFACE_COMPILE_DEFINITIONS>,;-D>"
      "-I$<JOIN:$<TARGET_PROPERTY:headers_alone,INTERFACE_INCLUDE_DIRECTORIES>,;-I>"
    COMMAND_EXPAND_LISTS)
  set_tests_properties(headers_alone PROPERTIES LABELS fast RUN_SERIAL TRUE TIMEOUT 900)
endfunction()
