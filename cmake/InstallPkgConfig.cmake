# Read while installing: writes lib${name}.pc with the directories of this installation. ${libdir} and
# ${includedir} may be absolute; CMAKE_INSTALL_PREFIX may be relative to where we are.
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
cmake_path(ABSOLUTE_PATH libdir BASE_DIRECTORY ${prefix} NORMALIZE
	   OUTPUT_VARIABLE CMAKE_INSTALL_FULL_LIBDIR)
cmake_path(ABSOLUTE_PATH includedir BASE_DIRECTORY ${prefix} NORMALIZE
	   OUTPUT_VARIABLE CMAKE_INSTALL_FULL_INCLUDEDIR)
set(installed "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig/lib${name}.pc")
message(STATUS "Installing: $ENV{DESTDIR}${installed}")
# pkg-config takes a blank for the end of a word.
foreach(dir prefix CMAKE_INSTALL_FULL_LIBDIR CMAKE_INSTALL_FULL_INCLUDEDIR)
	string(REPLACE " " "\\ " ${dir} "${${dir}}")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/pkg-config.in "$ENV{DESTDIR}${installed}" @ONLY
	       FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${installed}")
