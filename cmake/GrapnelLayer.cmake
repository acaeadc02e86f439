# One layer of src/README.md as one static library.
#
#   grapnel_layer(NAME rma SOURCES put.cpp get.cpp USES base os LIBS fmt::fmt)
#
# USES names the layers that the table grants; LIBS names outside libraries.
# SPDX-License-Identifier: Apache-2.0
function(grapnel_layer)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;USES;LIBS" ${ARGN})
  set(target grapnel_${ARG_NAME})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  list(TRANSFORM ARG_USES PREPEND grapnel_ OUTPUT_VARIABLE used_layers)
  target_link_libraries(${target} PUBLIC grapnel_flags ${used_layers} ${ARG_LIBS})
endfunction()

# What `./dev test --label sim` and `--label free` build: the tests of these worlds, and nothing that they do not need.
add_custom_target(sim_tests)
add_custom_target(free_tests)

# A GoogleTest executable for one layer: grapnel_test(NAME base_test SOURCES a.cpp USES base)
# Every executable is one ctest test unless EXTERNAL is given. A test has the machine for itself unless it says PROCESSORS 1
# (grapnel_sim_tests): times and deadlines of several processes hold only there.
function(grapnel_test)
  cmake_parse_arguments(ARG "EXTERNAL" "NAME;TIMEOUT" "SOURCES;USES;LIBS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  list(TRANSFORM ARG_USES PREPEND grapnel_ OUTPUT_VARIABLE used_layers)
  target_link_libraries(${ARG_NAME} PRIVATE ${used_layers} ${ARG_LIBS} GTest::gtest)
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_EXTERNAL)
    add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
    set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT} PROCESSORS 2)
  endif()
endfunction()

# Marks tests of simulated worlds, which have one running thread: two of them run side by side.
function(grapnel_sim_tests)
  set_tests_properties(${ARGN} PROPERTIES LABELS sim PROCESSORS 1)
  foreach(test IN LISTS ARGN)
    if(TARGET ${test})
      add_dependencies(sim_tests ${test})
    endif()
  endforeach()
endfunction()
