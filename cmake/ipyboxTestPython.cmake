# The interpreter whose IPython the tests and examples run, and the environment that hands it to them.
if(NOT IPYBOX_TEST_PYTHON)
  find_program(IPYBOX_TEST_PYTHON NAMES python python3 HINTS "${PROJECT_SOURCE_DIR}/.venv/bin" NO_CMAKE_SYSTEM_PATH
    DOC "Interpreter with ipykernel for the tests")
endif()
cmake_path(GET IPYBOX_TEST_PYTHON PARENT_PATH ipybox_test_python_dir)

set(ipybox_test_environment
  "IPYBOX_TEST_PYTHON=set:${IPYBOX_TEST_PYTHON}"
  "PATH=path_list_prepend:${ipybox_test_python_dir}"
  "ASAN_OPTIONS=set:detect_stack_use_after_return=1"
  "UBSAN_OPTIONS=set:print_stacktrace=1"
  "TSAN_OPTIONS=set:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp:second_deadlock_stack=1")
