# Read while installing: writes ${unit}, a systemd unit, with the directories of this installation.
# ${bindir}, ${libexecdir} and ${sysconfdir} may be absolute; CMAKE_INSTALL_PREFIX may be relative to where we are.
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
cmake_path(ABSOLUTE_PATH bindir BASE_DIRECTORY ${prefix} NORMALIZE
	   OUTPUT_VARIABLE CMAKE_INSTALL_FULL_BINDIR)
cmake_path(ABSOLUTE_PATH libexecdir BASE_DIRECTORY ${prefix} NORMALIZE
	   OUTPUT_VARIABLE CMAKE_INSTALL_FULL_LIBEXECDIR)
include(${CMAKE_CURRENT_LIST_DIR}/InstallSysconf.cmake)
# A unit file gives these characters a meaning, in quotes too.
foreach(dir CMAKE_INSTALL_FULL_BINDIR CMAKE_INSTALL_FULL_LIBEXECDIR CMAKE_INSTALL_FULL_SYSCONFDIR)
	string(REPLACE "\\" "\\\\" ${dir} "${${dir}}")
	string(REPLACE "\"" "\\\"" ${dir} "${${dir}}")
	string(REPLACE "%" "%%" ${dir} "${${dir}}")
endforeach()
get_filename_component(name ${unit} NAME)
set(installed "${prefix}/lib/systemd/system/${name}")
message(STATUS "Installing: $ENV{DESTDIR}${installed}")
configure_file(${unit} "$ENV{DESTDIR}${installed}" @ONLY
	       FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${installed}")
