# SPDX-License-Identifier: Apache-2.0
# What is installed beside programs and library, and the Debian package (cpack -G DEB).
if(SKBUILD)
  return()
endif()
# At the time of installing: the database is made by what is being built.
install(CODE "
  if(EXISTS \"${NOETHER_RULES_DB}\")
    file(INSTALL \"${NOETHER_RULES_DB}\" RENAME rules.db DESTINATION
      \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/noether\")
  else()
    message(STATUS \"No rule database at ${NOETHER_RULES_DB}: none is installed\")
  endif()")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/architecture.md docs/ruledb.md docs/guarantee.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_PACKAGE_NAME noether)
set(CPACK_PACKAGE_VENDOR "Noether")
set(CPACK_PACKAGE_CONTACT "Noether <noether@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_INSTALL_DIRECTORY noether)
# Configure with -DCMAKE_INSTALL_PREFIX=/usr: paths inside are those of the build.
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Optimizes ONNX models with rewrite rules that are found and proved by machine,
 where measured costs say that it pays. Programs, C library and rules.")
include(CPack)
