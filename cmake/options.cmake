# What a target that includes our headers needs, a user's own too.
add_library(sideband_headers INTERFACE)
target_include_directories(sideband_headers INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/sideband>)
target_compile_features(sideband_headers INTERFACE cxx_std_20)
target_link_libraries(sideband_headers INTERFACE tl::expected)

# What every target of ours is compiled with, and no user's.
add_library(sideband_options INTERFACE)
target_compile_options(sideband_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
# g++ 12 sees an overlap in "text" + std::string where there is none (GCC bug 105651), when it optimises much.
target_compile_options(sideband_options INTERFACE $<$<CONFIG:Release>:-Wno-restrict>)
target_link_libraries(sideband_options INTERFACE sideband_headers)

if(SIDEBAND_SANITIZE)
  target_compile_options(sideband_options INTERFACE -fsanitize=${SIDEBAND_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sideband_options INTERFACE -fsanitize=${SIDEBAND_SANITIZE})
endif()
