# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the headers, the CMake package, the pkg-config file, and the single header where python3 can make it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS halfstep halfstep_cuda EXPORT halfstep-targets FILE_SET include FILE_SET policies FILE_SET kernels
        FILE_SET cuda)
install(EXPORT halfstep-targets NAMESPACE halfstep:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halfstep)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/halfstep-config.cmake.in halfstep-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halfstep)
write_basic_package_version_file(halfstep-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/halfstep-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/halfstep-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halfstep)

# Nothing in it depends on the architecture, and every path in it on where it lies: a prefix may be moved, or named at `--install`.
set(pc_folder ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig)
file(RELATIVE_PATH HALFSTEP_PC_TO_PREFIX ${pc_folder} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" HALFSTEP_PC_TO_PREFIX "${HALFSTEP_PC_TO_PREFIX}")
file(RELATIVE_PATH HALFSTEP_PC_TO_INCLUDEDIR ${pc_folder} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(HALFSTEP_PC_BOOST)
foreach(folder ${Boost_INCLUDE_DIRS})
  if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    string(APPEND HALFSTEP_PC_BOOST " -I${folder}")  # Boost has no pkg-config file of its own
  endif()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/halfstep.pc.in ${CMAKE_CURRENT_BINARY_DIR}/halfstep.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/halfstep.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(single_header ${CMAKE_CURRENT_BINARY_DIR}/single/halfstep/single/halfstep.hpp)
  get_target_property(roots halfstep INTERFACE_HEADER_SETS)
  set(headers)
  foreach(root ${roots})
    get_target_property(of_root halfstep HEADER_SET_${root})
    list(APPEND headers ${of_root})
  endforeach()
  add_custom_command(
    OUTPUT ${single_header}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/amalgamate.py ${single_header}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/amalgamate.py ${headers}
    COMMENT "halfstep in one header"
    VERBATIM)
  add_custom_target(halfstep_single_header ALL DEPENDS ${single_header})
  install(FILES ${single_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/halfstep/single)
endif()
