# Run by CPack between the installation into its directory and the package: Debian has its manual compressed.
find_program(gzip NAMES gzip REQUIRED)
file(GLOB_RECURSE pages "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.1")
list(FILTER pages INCLUDE REGEX "/man1/")
foreach(page IN LISTS pages)
  execute_process(COMMAND ${gzip} -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
