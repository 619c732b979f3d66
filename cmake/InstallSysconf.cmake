# Read while installing: CMAKE_INSTALL_FULL_SYSCONFDIR from ${sysconfdir}, which may be absolute. As GNU's
# and Debian's rules have it, /etc belongs to the prefix /usr.
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
if(prefix STREQUAL "/usr" AND NOT IS_ABSOLUTE "${sysconfdir}")
	set(CMAKE_INSTALL_FULL_SYSCONFDIR "/${sysconfdir}")
else()
	cmake_path(ABSOLUTE_PATH sysconfdir BASE_DIRECTORY ${prefix} NORMALIZE
		   OUTPUT_VARIABLE CMAKE_INSTALL_FULL_SYSCONFDIR)
endif()
