# An overlay port of the tree that it stands in: vcpkg install ipybox --overlay-ports=packaging/vcpkg/ports
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES zmq IPYBOX_ZMQ http IPYBOX_HTTP)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DIPYBOX_BUILD_CLI=OFF
    -DIPYBOX_BUILD_TESTS=OFF
    -DIPYBOX_BUILD_EXAMPLES=OFF
    -DIPYBOX_BUILD_BENCHMARKS=OFF
    -DIPYBOX_INSTALL=ON
    "-DIPYBOX_CMAKE_DIR=share/${PORT}"
    ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH "share/${PORT}")

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/licenses" "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
