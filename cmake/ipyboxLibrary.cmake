# ipybox::ipybox: the library with its bodies compiled once. Where it is not installed so, the project that uses it does that.
# Its components: ipybox::zmq with zmq_transport, and ipybox::http with the channel to MCP servers over HTTP.
# ipybox::header_only, ipybox::zmq_header_only and ipybox::http_header_only are the same as headers: each source file that includes one
# compiles the bodies.
#
# Several translation units, each written here from the lines of src.hpp for a few rooms, so that they compile side by
# side. Each instantiates the templates of Asio and JSON anew: one a room would take 1.5 times as long in all. With
# IPYBOX_JOIN_ROOMS they are two, which take equally long.

# The rooms that messages of kernels and calls of tools pass; the others are joined as "services".
set(ipybox_message_rooms action adapters async core execution front_door gate jupyter kernel os services session transport)

# Rooms that use the same headers, and are one source called after the first; the others are one each.
set(ipybox_room_groups
  "session execution front_door services" "app adapters" "kernel transport jupyter os async" "action gate approval rules"
  "sandbox network packages core" "codegen tools")

# Rooms that are a component each.
set(ipybox_component_rooms zmq http)

# The name of the source that a room is part of.
function(ipybox_source_of room result)
  set(source ${room})
  if(IPYBOX_JOIN_ROOMS AND room IN_LIST ipybox_message_rooms)
    set(source messages)
  elseif(IPYBOX_JOIN_ROOMS AND NOT room IN_LIST ipybox_component_rooms)
    set(source services)
  else()
    foreach(group IN LISTS ipybox_room_groups)
      separate_arguments(group)
      if(room IN_LIST group)
        list(GET group 0 source)
      endif()
    endforeach()
  endif()
  set(${result} ${source} PARENT_SCOPE)
endfunction()

# Writes the sources of the rooms. Those of the components are ipybox_sources/zmq.cpp and http.cpp; the others go into `sources`.
function(ipybox_write_rooms sources)
  set(names)
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
    ipybox_source_of(${room} name)
    list(APPEND names ${name})
    string(APPEND bodies_of_${name} "${line}\n")
  endforeach()
  list(REMOVE_DUPLICATES names)
  foreach(name IN LISTS names)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/ipybox_sources/${name}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "${bodies_of_${name}}" @ONLY)
    list(APPEND written "${source}")
  endforeach()
  # Those that were written with other rooms; the linter reads all that are there.
  file(GLOB stale "${CMAKE_CURRENT_BINARY_DIR}/ipybox_sources/*.cpp")
  list(REMOVE_ITEM stale ${written})
  if(stale)
    file(REMOVE ${stale})
  endif()
  foreach(room IN LISTS ipybox_component_rooms)
    list(REMOVE_ITEM written "${CMAKE_CURRENT_BINARY_DIR}/ipybox_sources/${room}.cpp")
  endforeach()
  set(${sources} "${written}" PARENT_SCOPE)
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

# A library that is installed has targets of its own, and may be a shared one.
set(ipybox_library_type STATIC)
if(IPYBOX_INSTALL AND IPYBOX_INSTALL_COMPILED AND BUILD_SHARED_LIBS)
  set(ipybox_library_type SHARED)
endif()
if(NOT TARGET ipybox::ipybox OR (IPYBOX_WANT_ZMQ AND NOT TARGET ipybox::zmq) OR (IPYBOX_WANT_HTTP AND NOT TARGET ipybox::http))
  ipybox_write_rooms(ipybox_room_sources)
endif()

if(NOT TARGET ipybox::ipybox)
  add_library(ipybox ${ipybox_library_type} EXCLUDE_FROM_ALL ${ipybox_room_sources})
  add_library(ipybox::ipybox ALIAS ipybox)
  target_compile_definitions(ipybox PUBLIC IPYBOX_SEPARATE_COMPILATION)
  target_link_libraries(ipybox PUBLIC ipybox::header_only)
  ipybox_set_compiled_options(ipybox)
  if(IPYBOX_WANT_ZMQ)
    # library_versions() names ZeroMQ; its headers alone are needed for that
    ipybox_source_of(app ipybox_app_source)
    set_source_files_properties("${CMAKE_CURRENT_BINARY_DIR}/ipybox_sources/${ipybox_app_source}.cpp" PROPERTIES
      COMPILE_DEFINITIONS IPYBOX_ZMQ)
    target_include_directories(ipybox SYSTEM PRIVATE $<TARGET_PROPERTY:ipybox::cppzmq,INTERFACE_INCLUDE_DIRECTORIES>)
  endif()
endif()

# Makes ipybox::NAME and ipybox::NAME_header_only, which need `dependency` beside the library.
function(ipybox_add_component name dependency)
  string(TOUPPER ${name} macro)
  if(NOT TARGET ipybox::${name})
    add_library(ipybox_${name} ${ipybox_library_type} EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/ipybox_sources/${name}.cpp")
    add_library(ipybox::${name} ALIAS ipybox_${name})
    target_compile_definitions(ipybox_${name} PUBLIC IPYBOX_${macro})
    target_link_libraries(ipybox_${name} PUBLIC ipybox::ipybox ${dependency})
    ipybox_set_compiled_options(ipybox_${name})
  endif()
  if(NOT TARGET ipybox::${name}_header_only)
    add_library(ipybox_${name}_header_only INTERFACE)
    add_library(ipybox::${name}_header_only ALIAS ipybox_${name}_header_only)
    target_compile_definitions(ipybox_${name}_header_only INTERFACE IPYBOX_${macro})
    target_link_libraries(ipybox_${name}_header_only INTERFACE ipybox::header_only ${dependency})
  endif()
endfunction()

if(IPYBOX_WANT_ZMQ)
  ipybox_add_component(zmq ipybox::cppzmq) # with IPYBOX_ZMQ ipybox.hpp includes zmq_transport.hpp
endif()
if(IPYBOX_WANT_HTTP)
  ipybox_add_component(http ipybox::curl)
endif()
