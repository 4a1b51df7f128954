# ipybox::compiled: the library with its bodies compiled once, by the project that uses it, with its compiler and flags.
if(NOT TARGET ipybox_compiled)
  add_library(ipybox_compiled STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/compiled.cpp")
  add_library(ipybox::compiled ALIAS ipybox_compiled)
  target_compile_definitions(ipybox_compiled PUBLIC IPYBOX_SEPARATE_COMPILATION)
  target_link_libraries(ipybox_compiled PUBLIC ipybox::ipybox)
  # GCC takes the frames of coroutines that stand in a header for types of several translation units; here it is one
  target_compile_options(ipybox_compiled PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
