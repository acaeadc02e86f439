# The applications on TreadMarks' interface, over ranks, nodes and both page traps.
# SPDX-License-Identifier: Apache-2.0

# shared_run(program regex argument...): verified runs in five worlds, and in one of them by mprotect.
function(shared_run program regex)
  foreach(world 1-1 3-1 3-3 5-2 8-4)
    string(REPLACE "-" ";" numbers ${world})
    list(GET numbers 0 ranks)
    list(GET numbers 1 nodes)
    application_run(PROGRAM ${program} NAME ${program}_${ranks}_${nodes} RANKS ${ranks} NODES ${nodes} EXIT 0
      SAYS ${regex} ARGUMENTS ${ARGN} --verify)
  endforeach()
  application_run(PROGRAM ${program} NAME ${program}_mprotect_3_2 RANKS 3 NODES 2 EXIT 0 SAYS ${regex}
    ENVIRONMENT GRAPNEL_DSM_TRAP=mprotect ARGUMENTS ${ARGN} --verify)
endfunction()

foreach(program jacobi sor)
  set(pass "^${program}: PASS differences=0$")
  # Rows that are no multiple of a page: processes write to different parts of one page.
  shared_run(${program} ${pass} --n 203 --iterations 20)
  application_run(PROGRAM ${program} NAME ${program}_whole_pages_2_2 RANKS 2 NODES 2 EXIT 0 SAYS ${pass}
    ARGUMENTS --n 1024 --iterations 5 --verify)
  # Fewer rows than processes; one page for all.
  application_run(PROGRAM ${program} NAME ${program}_few_rows_5_3 RANKS 5 NODES 3 EXIT 0 SAYS ${pass}
    ARGUMENTS --n 4 --iterations 9 --verify)
  application_run(PROGRAM ${program} NAME ${program}_single EXIT 0 SAYS ${pass} ARGUMENTS --n 50 --verify)
  application_run(PROGRAM ${program} NAME ${program}_unverified_2_2 RANKS 2 NODES 2 EXIT 0
    SAYS "^${program}: DONE not verified$" ARGUMENTS --n 50 --iterations 3)
  application_run(PROGRAM ${program} NAME ${program}_bad_argument_2_2 RANKS 2 NODES 2 EXIT 2
    SAYS "^${program}: --n: Value 2 not in range" ARGUMENTS --n 2)
  application_run(PROGRAM ${program} NAME ${program}_no_room_2_2 RANKS 2 NODES 2 EXIT 1
    SAYS "^${program}: FAIL no room" ENVIRONMENT GRAPNEL_DSM_HEAP_BYTES=4m ARGUMENTS --n 1024)
endforeach()

set(pass "^tsp: PASS optimum=[0-9]+$")
set(cities ${CMAKE_CURRENT_LIST_DIR}/cities)
grapnel_test(NAME tsp_unit_test SOURCES tsp_cities_test.cpp tsp_search_test.cpp tsp_tsplib_test.cpp
  LIBS tsp_parts GTest::gtest_main)
shared_run(tsp ${pass} --cities 12)
application_run(PROGRAM tsp NAME tsp_two_cities_5_3 RANKS 5 NODES 3 EXIT 0 SAYS ${pass} ARGUMENTS --cities 2 --verify)
# The whole search in one process; all tours in the queue.
application_run(PROGRAM tsp NAME tsp_depth_1_3_3 RANKS 3 NODES 3 EXIT 0 SAYS ${pass}
  ARGUMENTS --cities 10 --seed 2 --depth 1 --verify)
application_run(PROGRAM tsp NAME tsp_depth_12_3_3 RANKS 3 NODES 3 EXIT 0 SAYS ${pass}
  ARGUMENTS --cities 10 --seed 3 --depth 12 --verify)
application_run(PROGRAM tsp NAME tsp_single EXIT 0 SAYS ${pass} ARGUMENTS --cities 11 --verify)
application_run(PROGRAM tsp NAME tsp_unverified_2_2 RANKS 2 NODES 2 EXIT 0 SAYS "^tsp: DONE not verified$"
  ARGUMENTS --cities 8)
application_run(PROGRAM tsp NAME tsp_file_3_2 RANKS 3 NODES 2 EXIT 0 SAYS "^tsp: PASS optimum=44$"
  ARGUMENTS --file ${cities}/rectangle.tsp --verify)
application_run(PROGRAM tsp NAME tsp_file_twice_3_2 RANKS 3 NODES 2 EXIT 1
  SAYS "^tsp: FAIL .*twice.tsp:7: city 1 appears twice$" ARGUMENTS --file ${cities}/twice.tsp)
application_run(PROGRAM tsp NAME tsp_file_missing_2_2 RANKS 2 NODES 2 EXIT 1
  SAYS "^tsp: FAIL .*absent.tsp: cannot be opened: No such file" ARGUMENTS --file ${cities}/absent.tsp)
application_run(PROGRAM tsp NAME tsp_bad_argument_2_2 RANKS 2 NODES 2 EXIT 2 SAYS "^tsp: --cities: Value 33 not in range"
  ARGUMENTS --cities 33)
application_run(PROGRAM tsp NAME tsp_file_and_cities_2_1 RANKS 2 NODES 1 EXIT 2 SAYS "^tsp: --.* excludes --"
  ARGUMENTS --cities 5 --file ${cities}/rectangle.tsp)

# Without FFTW the last line ends in "at sample points".
set(pass "^fft3d: PASS error=[0-9.e-]+( at sample points)?$")
grapnel_test(NAME fft3d_unit_test SOURCES fft3d_test.cpp LIBS fft3d_parts GTest::gtest_main)
shared_run(fft3d ${pass} --n 16 --iterations 2)
application_run(PROGRAM fft3d NAME fft3d_large_2_2 RANKS 2 NODES 2 EXIT 0 SAYS ${pass} ARGUMENTS --n 32 --verify)
# One element; fewer planes than processes.
application_run(PROGRAM fft3d NAME fft3d_one_3_2 RANKS 3 NODES 2 EXIT 0 SAYS ${pass} ARGUMENTS --n 1 --verify)
application_run(PROGRAM fft3d NAME fft3d_few_planes_5_3 RANKS 5 NODES 3 EXIT 0 SAYS ${pass} ARGUMENTS --n 4 --verify)
application_run(PROGRAM fft3d NAME fft3d_single EXIT 0 SAYS ${pass} ARGUMENTS --n 8 --verify)
application_run(PROGRAM fft3d NAME fft3d_unverified_2_2 RANKS 2 NODES 2 EXIT 0 SAYS "^fft3d: DONE not verified$"
  ARGUMENTS --n 8)
application_run(PROGRAM fft3d NAME fft3d_bad_argument_2_2 RANKS 2 NODES 2 EXIT 2
  SAYS "^fft3d: --n: 24 is not a power of two" ARGUMENTS --n 24)
application_run(PROGRAM fft3d NAME fft3d_no_room_2_2 RANKS 2 NODES 2 EXIT 1 SAYS "^fft3d: FAIL no room"
  ENVIRONMENT GRAPNEL_DSM_HEAP_BYTES=4m ARGUMENTS --n 64)

# A false sharing that the report of the shared heap must name.
add_executable(planted_sor planted_sor.cpp)
target_include_directories(planted_sor PRIVATE ${PROJECT_SOURCE_DIR}/apps)
target_link_libraries(planted_sor PRIVATE sor_parts)
set_target_properties(planted_sor PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_test(NAME sor_report
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/report_test.py --tool $<TARGET_FILE:grapnel_tool>
    --planted $<TARGET_FILE:planted_sor> --sor $<TARGET_FILE:sor>)
set_tests_properties(sor_report PROPERTIES TIMEOUT 120 PROCESSORS 2)
