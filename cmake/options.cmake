# What every target of ours is compiled with.
add_library(sideband_options INTERFACE)
target_include_directories(sideband_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(sideband_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
# g++ 12 sees an overlap in "text" + std::string where there is none (GCC bug 105651), when it optimises much.
target_compile_options(sideband_options INTERFACE $<$<CONFIG:Release>:-Wno-restrict>)
target_link_libraries(sideband_options INTERFACE tl::expected)

if(SIDEBAND_SANITIZE)
  target_compile_options(sideband_options INTERFACE -fsanitize=${SIDEBAND_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sideband_options INTERFACE -fsanitize=${SIDEBAND_SANITIZE})
endif()
