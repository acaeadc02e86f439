# cmake -DEXIT=code -DSAYS=regex -P judge.cmake -- command...
#
# Runs the command and fails unless it ends with that code and its last line matches. CTest's own PASS_REGULAR_EXPRESSION
# will not do: it makes the exit code irrelevant.
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
# The last line of stdout; of stderr where the program had only complaints.
set(text "${output}")
if(text STREQUAL "")
  set(text "${errors}")
endif()
string(STRIP "${text}" text)
string(REGEX REPLACE "^.*\n" "" last_line "${text}")
if(NOT last_line MATCHES "${SAYS}")
  message(FATAL_ERROR "last line '${last_line}' does not match '${SAYS}'")
endif()
