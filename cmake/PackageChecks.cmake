# Without dpkg-shlibdeps cpack makes a package that depends on nothing, and says so on one line among others.
find_program(RAWSTACK_SHLIBDEPS dpkg-shlibdeps)
if(NOT RAWSTACK_SHLIBDEPS)
	message(FATAL_ERROR "dpkg-shlibdeps not found: install the Debian package dpkg-dev")
endif()
