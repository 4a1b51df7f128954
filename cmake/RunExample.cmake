# Runs PROGRAM; fails unless it ends with 0 and its output has the text of every line `// prints: …` of SOURCE.
# A line `// run by: SCRIPT` names a Python script that starts it, as a server that it talks to.
cmake_minimum_required(VERSION 3.25)

set(command ${PROGRAM})
file(STRINGS "${SOURCE}" script REGEX "^// run by: " LIMIT_COUNT 1)
if(script)
  string(REGEX REPLACE "^// run by: " "" script "${script}")
  set(command ${PYTHON} ${script} ${PROGRAM})
endif()

execute_process(
  COMMAND ${command}
  INPUT_FILE /dev/null
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
  TIMEOUT 100)
message("${output}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}")
endif()

file(STRINGS "${SOURCE}" expectations REGEX "^// prints: ")
foreach(expectation IN LISTS expectations)
  string(REGEX REPLACE "^// prints: " "" expectation "${expectation}")
  string(FIND "${output}" "${expectation}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "the output lacks: ${expectation}")
  endif()
endforeach()
