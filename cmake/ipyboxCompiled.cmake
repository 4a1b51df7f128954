# ipybox::compiled: the library with its bodies compiled once, by the project that uses it, with its compiler and flags.
# ipybox::compiled_zmq: the same with the component zmq.
# One translation unit a room, each written here from the lines of src.hpp, so that they compile side by side. With
# IPYBOX_JOIN_ROOMS they are two, which take equally long: each unit instantiates the templates of Asio and JSON anew, so
# that two of them take half the time of twenty in all.

# The rooms that messages of kernels and calls of tools pass; the others are joined as "services".
set(ipybox_message_rooms action adapters async core execution front_door gate jupyter kernel os session transport)

# Writes the sources of the rooms. The one of the component zmq goes into `zmq_source`, the others into `sources`.
function(ipybox_write_rooms sources zmq_source)
  set(rooms)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${IPYBOX_INCLUDE_DIR}/ipybox/src.hpp")
  file(STRINGS "${IPYBOX_INCLUDE_DIR}/ipybox/src.hpp" bodies REGEX "/impl/")
  foreach(line IN LISTS bodies)
    string(REGEX MATCH "<ipybox/(.*)impl/" room "${line}")
    string(REPLACE "/" "" room "${CMAKE_MATCH_1}")
    if(room STREQUAL "")
      set(room front_door)
    elseif(line MATCHES "/zmq_")
      set(room zmq)
    endif()
    if(IPYBOX_JOIN_ROOMS AND room IN_LIST ipybox_message_rooms)
      set(room messages)
    elseif(IPYBOX_JOIN_ROOMS AND NOT room STREQUAL "zmq")
      set(room services)
    endif()
    list(APPEND rooms ${room})
    string(APPEND bodies_of_${room} "${line}\n")
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/ipybox_compiled/${room}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "${bodies_of_${room}}" @ONLY)
    list(APPEND written "${source}")
  endforeach()
  # Those that were written with other rooms; the linter reads all that are there.
  file(GLOB stale "${CMAKE_CURRENT_BINARY_DIR}/ipybox_compiled/*.cpp")
  list(REMOVE_ITEM stale ${written})
  if(stale)
    file(REMOVE ${stale})
  endif()
  set(zmq "${CMAKE_CURRENT_BINARY_DIR}/ipybox_compiled/zmq.cpp")
  list(REMOVE_ITEM written "${zmq}")
  set(${sources} "${written}" PARENT_SCOPE)
  set(${zmq_source} "${zmq}" PARENT_SCOPE)
endfunction()

function(ipybox_set_compiled_options library)
  # It may become part of a shared library, a plugin or a binding to another language.
  set_target_properties(${library} PROPERTIES UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${library} PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang>:-fno-semantic-interposition>)
  # A program that links with --gc-sections keeps what it uses, and no more.
  target_compile_options(${library} PRIVATE -ffunction-sections -fdata-sections)
  # GCC takes the frames of coroutines that stand in a body for types of several translation units, and where it inlines one of the
  # two allocation functions of a frame, it takes the other for one that does not match.
  target_compile_options(${library} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage -Wno-mismatched-new-delete>)
endfunction()

# An installed library (IPYBOX_INSTALL_COMPILED) has targets of its own, and may be a shared one.
set(ipybox_library_type STATIC)
if(IPYBOX_INSTALL_COMPILED AND BUILD_SHARED_LIBS)
  set(ipybox_library_type SHARED)
endif()
if(NOT TARGET ipybox::compiled OR (TARGET ipybox::zmq AND NOT TARGET ipybox::compiled_zmq))
  ipybox_write_rooms(ipybox_room_sources ipybox_zmq_source)
endif()

if(NOT TARGET ipybox::compiled)
  add_library(ipybox_compiled ${ipybox_library_type} EXCLUDE_FROM_ALL ${ipybox_room_sources})
  add_library(ipybox::compiled ALIAS ipybox_compiled)
  target_compile_definitions(ipybox_compiled PUBLIC IPYBOX_SEPARATE_COMPILATION)
  target_link_libraries(ipybox_compiled PUBLIC ipybox::ipybox)
  ipybox_set_compiled_options(ipybox_compiled)
  if(TARGET ipybox::zmq)
    # library_versions() names ZeroMQ; its headers alone are needed for that
    target_compile_definitions(ipybox_compiled PRIVATE IPYBOX_ZMQ)
    target_include_directories(ipybox_compiled SYSTEM PRIVATE $<TARGET_PROPERTY:ipybox::cppzmq,INTERFACE_INCLUDE_DIRECTORIES>)
  endif()
endif()

if(TARGET ipybox::zmq AND NOT TARGET ipybox::compiled_zmq)
  add_library(ipybox_compiled_zmq ${ipybox_library_type} EXCLUDE_FROM_ALL ${ipybox_zmq_source})
  add_library(ipybox::compiled_zmq ALIAS ipybox_compiled_zmq)
  target_link_libraries(ipybox_compiled_zmq PUBLIC ipybox::compiled ipybox::zmq)
  ipybox_set_compiled_options(ipybox_compiled_zmq)
endif()
