# Configures, builds and runs the consumer WAY in the directory WORK; for find_package ipybox is installed first.
# With ONLY that target is built and nothing is run.
cmake_minimum_required(VERSION 3.25)

if(NOT DEFINED WORK)
  set(WORK ${WAY})
endif()
set(work ${IPYBOX_BUILD}/consumer/${WORK})
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "ended with ${status}: ${command}")
  endif()
endfunction()

if(WAY STREQUAL "find_package")
  # only the library: whatever else is built here is not what a consumer of the library needs
  run(${CMAKE_COMMAND} -S ${IPYBOX_SOURCE} -B ${work}/library -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_INSTALL_PREFIX=${work}/prefix
    "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}" -D CMAKE_TOOLCHAIN_FILE=${TOOLCHAIN} -D CMAKE_INSTALL_MESSAGE=NEVER
    -D IPYBOX_BUILD_CLI=OFF -D IPYBOX_BUILD_TESTS=OFF -D IPYBOX_BUILD_EXAMPLES=OFF -D IPYBOX_BUILD_BENCHMARKS=OFF)
  run(${CMAKE_COMMAND} --install ${work}/library)
  list(APPEND PREFIX_PATH ${work}/prefix)
endif()

# What careful projects compile with. As a subdirectory ipybox is no system header: they see its warnings as their own.
set(warnings "-Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor \
-Woverloaded-virtual -Wdouble-promotion -Wformat=2 -Wcast-align -Wimplicit-fallthrough -Wnull-dereference")

run(${CMAKE_COMMAND} -S ${SOURCE}/${WAY} -B ${work}/build -G ${GENERATOR}
  -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0 "-DCMAKE_CXX_FLAGS=${warnings}" -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
  "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}" -D CMAKE_TOOLCHAIN_FILE=${TOOLCHAIN} -D IPYBOX_SOURCE=${IPYBOX_SOURCE})
if(ONLY)
  run(${CMAKE_COMMAND} --build ${work}/build --target ${ONLY})
  return()
endif()
run(${CMAKE_COMMAND} --build ${work}/build -j 2)
run(${work}/build/consumer)
