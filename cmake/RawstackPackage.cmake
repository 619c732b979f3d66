# `cpack` in a build directory makes one .deb that holds the four programs.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rawstack)
set(CPACK_PACKAGE_VENDOR "The Rawstack authors")
set(CPACK_PACKAGE_CONTACT "The Rawstack authors <rawstack@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Read by cpack itself, when a package is made.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/PackageChecks.cmake)
# Where Debian looks for the licence of a package.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
include(CPack)
