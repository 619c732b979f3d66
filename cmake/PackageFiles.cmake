# Run by cpack between installing and packing: what Debian's policy asks of a package's files, and of no
# other installation.
find_program(GZIP gzip REQUIRED)

function(rawstack_compress file)
	execute_process(COMMAND ${GZIP} -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
	set(usr ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
	string(TOUPPER ${component} name)
	set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
	if(NOT package)
		set(package ${CPACK_PACKAGE_NAME}-${component})
	endif()

	# The licence is one that each Debian system has, so its text is not repeated.
	set(doc ${usr}/share/doc/${package})
	file(REMOVE ${doc}/LICENSE)
	# Not by file(INSTALL): cpack has set DESTDIR.
	configure_file(${CPACK_RAWSTACK_DEBIAN}/copyright ${doc}/copyright COPYONLY
		       FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
	file(WRITE ${doc}/changelog
	     "rawstack (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
	     "  * What changed is in the history of the sources.\n\n"
	     " -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 1970 00:00:00 +0000\n")
	rawstack_compress(${doc}/changelog)
	file(GLOB manuals ${usr}/share/man/man1/*.1)
	foreach(manual IN LISTS manuals)
		rawstack_compress(${manual})
	endforeach()
endforeach()
