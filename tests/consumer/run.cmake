# Configures, builds and runs the consumer WAY in the directory WORK.
#   find_package      ipybox is installed first; other flags than those that it was compiled with are refused.
#                     LIBRARY_BUILD, LIBRARY_COMPILER, LIBRARY_TYPE, LIBRARY_WERROR: where and how the library is compiled;
#                     LIBRARY_RELEASE_FLAGS, LIBRARY_JOIN_ROOMS: further settings of its build
#   fetch_content, cpm    out of an archive of the tree; COMPILED: a program with a call, and the library
# FLAGS are further ones for the compiler. With ONLY that target is built and nothing is run. FETCH_DEPS: the dependencies come from source trees, whatever is installed.
cmake_minimum_required(VERSION 3.25)

if(NOT DEFINED WORK)
  set(WORK ${WAY})
endif()
if(NOT STANDARD)
  set(STANDARD 20)
endif()
set(work ${IPYBOX_BUILD}/consumer/${WORK})
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "ended with ${status}: ${command}")
  endif()
endfunction()

set(arguments "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}" -D CMAKE_TOOLCHAIN_FILE=${TOOLCHAIN} -D IPYBOX_SOURCE=${IPYBOX_SOURCE})

if(WAY STREQUAL "find_package")
  # only the library: whatever else is built here is not what a consumer of the library needs
  if(NOT LIBRARY_BUILD)
    set(LIBRARY_BUILD ${work}/library)
    set(LIBRARY_COMPILER ${COMPILER})
    set(LIBRARY_TYPE Debug)
    set(LIBRARY_WERROR OFF)
    set(LIBRARY_RELEASE_FLAGS "")
    set(LIBRARY_JOIN_ROOMS ON)
  endif()
  file(REMOVE_RECURSE ${LIBRARY_BUILD})
  run(${CMAKE_COMMAND} -S ${IPYBOX_SOURCE} -B ${LIBRARY_BUILD} -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${LIBRARY_COMPILER} -D CMAKE_INSTALL_PREFIX=${work}/prefix
    "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}" -D CMAKE_TOOLCHAIN_FILE=${TOOLCHAIN} -D CMAKE_INSTALL_MESSAGE=NEVER
    -D CMAKE_BUILD_TYPE=${LIBRARY_TYPE} -D CMAKE_CXX_FLAGS_DEBUG=-O0 -D CMAKE_COMPILE_WARNING_AS_ERROR=${LIBRARY_WERROR}
    -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
    "-DCMAKE_CXX_FLAGS_RELEASE=${LIBRARY_RELEASE_FLAGS}" -D IPYBOX_JOIN_ROOMS=${LIBRARY_JOIN_ROOMS}
    -D IPYBOX_BUILD_CLI=OFF -D IPYBOX_BUILD_TESTS=OFF -D IPYBOX_BUILD_EXAMPLES=OFF -D IPYBOX_BUILD_BENCHMARKS=OFF)
  run(${CMAKE_COMMAND} --build ${LIBRARY_BUILD} -j 2)
  run(${CMAKE_COMMAND} --install ${LIBRARY_BUILD})
  list(APPEND arguments -D ipybox_ROOT=${work}/prefix) # a path with ";" in it would come apart on its way
endif()

if(WAY STREQUAL "fetch_content" OR WAY STREQUAL "cpm")
  run(${CMAKE_COMMAND} -E chdir ${IPYBOX_SOURCE}
    ${CMAKE_COMMAND} -E tar czf ${work}/ipybox.tar.gz CMakeLists.txt LICENSE cmake include)
  list(APPEND arguments -D IPYBOX_ARCHIVE=${work}/ipybox.tar.gz)
endif()

if(WAY STREQUAL "cpm")
  set(cpm ${IPYBOX_SOURCE}/.cache/cpm/CPM.cmake)
  if(NOT EXISTS ${cpm})
    message(FATAL_ERROR "CPM.cmake is missing: ./dev test unpacks it into .cache/cpm")
  endif()
  list(APPEND arguments -D CPM=${cpm})
endif()

# Source trees as the archives have them: headers of the installed packages, http_parser with its source.
function(copy_header name folder)
  find_path(${name} NAMES ${name} PATHS /usr/local/include /usr/include REQUIRED) # in a script no paths are known
  file(COPY ${${name}}/${name} DESTINATION ${folder})
endfunction()
if(FETCH_DEPS)
  if(NOT EXISTS ${IPYBOX_SOURCE}/.cache/http-parser/http_parser.c)
    message(FATAL_ERROR "the sources of http_parser are missing: ./dev test unpacks them into .cache/http-parser")
  endif()
  copy_header(asio ${work}/sources/asio/asio/include)
  copy_header(asio.hpp ${work}/sources/asio/asio/include)
  copy_header(nlohmann ${work}/sources/json/include)
  copy_header(tl ${work}/sources/expected/include)
  list(APPEND arguments -D IPYBOX_FETCH_DEPS=ON -D FETCHCONTENT_TRY_FIND_PACKAGE_MODE=NEVER
    -D FETCHCONTENT_SOURCE_DIR_ASIO=${work}/sources/asio
    -D FETCHCONTENT_SOURCE_DIR_NLOHMANN_JSON=${work}/sources/json
    -D FETCHCONTENT_SOURCE_DIR_TL-EXPECTED=${work}/sources/expected
    -D FETCHCONTENT_SOURCE_DIR_HTTP_PARSER=${IPYBOX_SOURCE}/.cache/http-parser)
endif()

if(COMPILED)
  list(APPEND arguments -D COMPILED=ON -D IPYBOX_JOIN_ROOMS=ON)
endif()

# What careful projects compile with. As a subdirectory ipybox is no system header: they see its warnings as their own.
set(warnings "-Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor \
-Woverloaded-virtual -Wdouble-promotion -Wformat=2 -Wcast-align -Wimplicit-fallthrough -Wnull-dereference")
if(NOT COMPILER MATCHES "clang")
  string(APPEND warnings " --param=ggc-min-heapsize=1048576") # GCC looks for garbage later, which takes a tenth of its time
endif()

run(${CMAKE_COMMAND} -S ${SOURCE}/${WAY} -B ${work}/build -G ${GENERATOR}
  -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0 "-DCMAKE_CXX_FLAGS=${warnings} ${FLAGS}" -D CMAKE_CXX_STANDARD=${STANDARD}
  -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} ${arguments})
if(ONLY)
  run(${CMAKE_COMMAND} --build ${work}/build --target ${ONLY})
  return()
endif()
run(${CMAKE_COMMAND} --build ${work}/build -j 2)
run(${work}/build/consumer)

if(WAY STREQUAL "find_package")
  run(${work}/build/one_cell)
  run(${CMAKE_COMMAND} ${work}/build -D CMAKE_CXX_FLAGS=-D_GLIBCXX_DEBUG\ -Wfatal-errors)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${work}/build RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0 OR NOT output MATCHES "_GLIBCXX_DEBUG is not what the installed ipybox was compiled with")
    message(FATAL_ERROR "_GLIBCXX_DEBUG was not refused:\n${output}")
  endif()
endif()

if(FETCH_DEPS)
  # the installed library would be loaded at run time; the one that was compiled is part of the program
  execute_process(COMMAND ldd ${work}/build/consumer OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  if(libraries MATCHES "libhttp_parser")
    message(FATAL_ERROR "the consumer uses the installed http_parser:\n${libraries}")
  endif()
endif()
