# cmake -DEXIT=code -DSAYS=regex -P judge.cmake -- command...
#
# Runs the command and fails unless it ends with that code and its last line matches (or, where it said nothing on stdout,
# anything on stderr). CTest's own PASS_REGULAR_EXPRESSION will not do: it makes the exit code irrelevant.
# SPDX-License-Identifier: Apache-2.0
set(command "")
set(after_dashes FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
  if(after_dashes)
    list(APPEND command "${CMAKE_ARGV${index}}")
  elseif("${CMAKE_ARGV${index}}" STREQUAL "--")
    set(after_dashes TRUE)
  endif()
endforeach()

execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
message("${output}${errors}")
if(NOT code STREQUAL EXIT)
  message(FATAL_ERROR "exit code ${code}, expected ${EXIT}")
endif()
# Where the program only complained, on stderr, the launcher may have had the last word.
if(output STREQUAL "")
  set(judged "${errors}")
else()
  string(STRIP "${output}" text)
  string(REGEX REPLACE "^.*\n" "" judged "${text}")
endif()
if(NOT judged MATCHES "${SAYS}")
  message(FATAL_ERROR "'${judged}' does not match '${SAYS}'")
endif()
