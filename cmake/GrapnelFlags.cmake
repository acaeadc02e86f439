# How every target of the project is compiled. The presets choose build type and sanitizers.
# SPDX-License-Identifier: Apache-2.0
set(GRAPNEL_SANITIZE "" CACHE STRING "Sanitizers for every target: empty, address,undefined or thread")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_INSTALL_LIBDIR lib)

find_program(GRAPNEL_CCACHE ccache)
if(GRAPNEL_CCACHE)
  # Relative to the sources, so that a clone somewhere else finds what this one compiled.
  set(GRAPNEL_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
    ${GRAPNEL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GRAPNEL_LAUNCHER})
  set(CMAKE_C_COMPILER_LAUNCHER ${GRAPNEL_LAUNCHER})
endif()

add_library(grapnel_flags INTERFACE)
target_compile_options(grapnel_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -fvisibility=hidden)
# GRAPNEL_ASSERT (src/base/check.hpp).
target_compile_definitions(grapnel_flags INTERFACE $<$<CONFIG:Debug>:GRAPNEL_ASSERTIONS>)
if(GRAPNEL_SANITIZE)
  target_compile_definitions(grapnel_flags INTERFACE GRAPNEL_ASSERTIONS)
  target_compile_options(grapnel_flags INTERFACE -fsanitize=${GRAPNEL_SANITIZE} -fno-omit-frame-pointer -O1 -g1
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # with the checks between, it takes whole optionals for unset
  # A program in C that links one of our libraries is not instrumented, but needs the sanitizer's runtime, and first.
  set(GRAPNEL_SANITIZER_LINK -fsanitize=${GRAPNEL_SANITIZE})
  target_link_options(grapnel_flags INTERFACE ${GRAPNEL_SANITIZER_LINK})
endif()
