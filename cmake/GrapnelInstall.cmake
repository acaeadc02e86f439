# What `cmake --install` puts under a prefix: include/, lib/ (always lib), bin/, the CMake package, the pkg-config file.
#
# The package and the pkg-config file find their prefix from where they lie, so an installed tree may be moved. Included last,
# when every target is there; a target that a build leaves out is not installed.
# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION include
  FILES_MATCHING PATTERN "*.hpp")

# Build tree and installed tree have the same shape, bin/ beside lib/, so one relative search path does for both.
function(grapnel_relocatable target)
  set_target_properties(${target} PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN/../lib"
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endfunction()

# What an installation needs, and no more: `cmake --build … --target installed`.
add_custom_target(installed)
set(shared_memory_programs jacobi sor tsp fft3d)
foreach(target IN ITEMS grapnel_tool lu ${shared_memory_programs} grapnel_shared tmk armci armci_static grapnel-mpi)
  if(TARGET ${target})
    add_dependencies(installed ${target})
  endif()
endforeach()

# grapnel_install_program(target name-in-bin)
function(grapnel_install_program target name)
  if(TARGET ${target})
    grapnel_relocatable(${target})
    install(PROGRAMS $<TARGET_FILE:${target}> DESTINATION bin RENAME ${name})
  endif()
endfunction()

grapnel_install_program(grapnel_tool grapnel)
grapnel_install_program(lu grapnel-lu)
foreach(program IN LISTS shared_memory_programs)
  grapnel_install_program(${program} grapnel-${program})
endforeach()

# For programs under the leak sanitizer: what PMIx and the like keep until their end.
install(FILES ${PROJECT_SOURCE_DIR}/tests/sanitizers/leaks.txt DESTINATION share/grapnel)

if(TARGET grapnel_shared)
  grapnel_relocatable(grapnel_shared)
  set_target_properties(grapnel_shared PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  install(TARGETS grapnel_shared LIBRARY DESTINATION lib)

  set(package_folder lib/cmake/grapnel)
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/grapnelConfig.cmake.in ${PROJECT_BINARY_DIR}/package/grapnelConfig.cmake
    INSTALL_DESTINATION ${package_folder} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/package/grapnelConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/grapnel.pc.in ${PROJECT_BINARY_DIR}/package/grapnel.pc @ONLY)
  install(FILES
    ${PROJECT_BINARY_DIR}/package/grapnelConfig.cmake
    ${PROJECT_BINARY_DIR}/package/grapnelConfigVersion.cmake
    DESTINATION ${package_folder})
  install(FILES ${PROJECT_BINARY_DIR}/package/grapnel.pc DESTINATION lib/pkgconfig)
endif()

if(TARGET tmk)
  grapnel_relocatable(tmk)
  set_target_properties(tmk PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  install(TARGETS tmk LIBRARY DESTINATION lib)
  install(FILES ${PROJECT_SOURCE_DIR}/include/Tmk.h DESTINATION include)
  install(FILES ${PROJECT_SOURCE_DIR}/include/grapnel/parmacs.h DESTINATION include/grapnel)
  install(FILES ${PROJECT_SOURCE_DIR}/src/api/tmk/parmacs.m4 DESTINATION share/grapnel)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/grapnel-tmk.pc.in ${PROJECT_BINARY_DIR}/package/grapnel-tmk.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/grapnel-tmk.pc DESTINATION lib/pkgconfig)
endif()

# A front end is installed with its headers, and with the libraries that its archive needs.
if(TARGET armci)
  grapnel_relocatable(armci)
  set_target_properties(armci PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS armci LIBRARY DESTINATION lib)
  install(TARGETS armci_static ARCHIVE DESTINATION lib)
  # Compiled by another MPI's wrapper a program would link, and die in its first call of MPI. The header of a prefix knows
  # its MPI.
  set(header ${PROJECT_SOURCE_DIR}/include/armci.h)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} text)
  string(REPLACE "#include <mpi.h>\n" "#include <mpi.h>
#ifndef ${family_macro}
#error \"this armci.h and its libarmci are for ${GRAPNEL_MPI}: compile with mpicc.${GRAPNEL_MPI} or the like, or install Grapnel for your MPI (./dev install PREFIX --mpi openmpi|mpich)\"
#endif
" text_of_family "${text}")
  if(text_of_family STREQUAL text)
    message(FATAL_ERROR "armci.h has no line #include <mpi.h>, after which the check for its MPI belongs")
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/armci.h CONTENT "${text_of_family}" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/armci.h ${PROJECT_SOURCE_DIR}/include/message.h DESTINATION include)

  list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND "-I" OUTPUT_VARIABLE mpi_flags)
  list(JOIN mpi_flags " " ARMCI_MPI_FLAGS)
  list(JOIN MPI_C_LIBRARIES " " ARMCI_MPI_LIBRARIES)
  foreach(package armci armci-static)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/package/${package}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/package/${package}.pc DESTINATION lib/pkgconfig)
  endforeach()
endif()

# Preloaded, or linked before the MPI: no header, no version in its name.
if(TARGET grapnel-mpi)
  grapnel_relocatable(grapnel-mpi)
  set_target_properties(grapnel-mpi PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS grapnel-mpi LIBRARY DESTINATION lib)
endif()
