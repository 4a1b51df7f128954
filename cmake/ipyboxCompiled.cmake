# ipybox::compiled: the library with its bodies compiled once, by the project that uses it, with its compiler and flags.
# One translation unit a room, each written here from the lines of src.hpp, so that they compile side by side.
if(NOT TARGET ipybox_compiled)
  set(ipybox_rooms)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${IPYBOX_INCLUDE_DIR}/ipybox/src.hpp")
  file(STRINGS "${IPYBOX_INCLUDE_DIR}/ipybox/src.hpp" ipybox_bodies_to_compile REGEX "/impl/")
  foreach(line IN LISTS ipybox_bodies_to_compile)
    string(REGEX MATCH "<ipybox/(.*)impl/" room "${line}")
    string(REPLACE "/" "" room "${CMAKE_MATCH_1}")
    if(room STREQUAL "")
      set(room front_door)
    elseif(line MATCHES "/zmq_|/tcp_ports")
      set(room zmq) # by itself: a linker with --as-needed leaves ZeroMQ out of a program that uses nothing of it
    endif()
    list(APPEND ipybox_rooms ${room})
    string(APPEND ipybox_room_${room} "${line}\n")
  endforeach()
  list(REMOVE_DUPLICATES ipybox_rooms)
  set(ipybox_room_sources)
  foreach(room IN LISTS ipybox_rooms)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/ipybox_compiled/${room}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "${ipybox_room_${room}}" @ONLY)
    list(APPEND ipybox_room_sources "${source}")
  endforeach()

  add_library(ipybox_compiled STATIC EXCLUDE_FROM_ALL ${ipybox_room_sources})
  add_library(ipybox::compiled ALIAS ipybox_compiled)
  set_target_properties(ipybox_compiled PROPERTIES UNITY_BUILD OFF)
  target_compile_definitions(ipybox_compiled PUBLIC IPYBOX_SEPARATE_COMPILATION)
  target_link_libraries(ipybox_compiled PUBLIC ipybox::ipybox)
  # A program that links with --gc-sections keeps what it uses, and no more.
  target_compile_options(ipybox_compiled PRIVATE -ffunction-sections -fdata-sections)
  # GCC takes the frames of coroutines that stand in a body for types of several translation units, and where it inlines one of the
  # two allocation functions of a frame, it takes the other for one that does not match.
  target_compile_options(ipybox_compiled PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage -Wno-mismatched-new-delete>)
endif()
