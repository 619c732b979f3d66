# Read while installing: puts ${config} into rawstack/ below the directory for configuration. One that is
# there stays: it is the administrator's.
include(${CMAKE_CURRENT_LIST_DIR}/InstallSysconf.cmake)
get_filename_component(name ${config} NAME)
set(installed "${CMAKE_INSTALL_FULL_SYSCONFDIR}/rawstack/${name}")
if(EXISTS "$ENV{DESTDIR}${installed}")
	message(STATUS "Kept: $ENV{DESTDIR}${installed}")
else()
	message(STATUS "Installing: $ENV{DESTDIR}${installed}")
	configure_file(${config} "$ENV{DESTDIR}${installed}" COPYONLY
		       FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endif()
list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${installed}")
