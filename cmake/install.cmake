# `cmake --install`: the program, the sender's libraries and public headers, the schema, and the package for
# find_package(sideband). tests/install builds a client against the result.
include(CMakePackageConfigHelpers)

add_library(sideband::sender ALIAS sideband_sender)
add_library(sideband::sender_shared ALIAS sideband_sender_shared)
set_target_properties(sideband_sender PROPERTIES EXPORT_NAME sender)
set_target_properties(sideband_sender_shared PROPERTIES EXPORT_NAME sender_shared SOVERSION ${PROJECT_VERSION_MAJOR})
set_target_properties(sideband_frame PROPERTIES EXPORT_NAME frame)
set_target_properties(sideband_headers PROPERTIES EXPORT_NAME headers)

set(SIDEBAND_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sideband)
install(TARGETS sideband)
install(TARGETS sideband_sender sideband_sender_shared sideband_frame sideband_headers EXPORT sideband)
# A folder of our own: sender/ and frame/ are no names for a system's include folder.
install(FILES frame/result.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sideband/frame)
install(FILES sender/options.h sender/sender.h sender/sideband.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sideband/sender)
install(FILES proto/sideband.proto DESTINATION ${CMAKE_INSTALL_DATADIR}/sideband)
install(EXPORT sideband NAMESPACE sideband:: FILE sideband-targets.cmake DESTINATION ${SIDEBAND_PACKAGE_DIR})

configure_package_config_file(cmake/sideband-config.cmake.in sideband-config.cmake
  INSTALL_DESTINATION ${SIDEBAND_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(sideband-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sideband-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/sideband-config-version.cmake
  DESTINATION ${SIDEBAND_PACKAGE_DIR})
