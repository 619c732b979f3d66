# Run by cpack between installing and packing: what Debian's policy asks of a package's files, and of no
# other installation.
find_program(GZIP gzip REQUIRED)

function(rawstack_compress file)
	execute_process(COMMAND ${GZIP} -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# As Debian's own tools strip: cpack leaves the section that names the compiler.
function(rawstack_strip_programs usr)
	file(GLOB programs ${usr}/bin/* ${usr}/libexec/rawstack/* ${usr}/lib/lib*.so.*)
	foreach(program IN LISTS programs)
		file(READ ${program} magic LIMIT 4 HEX)
		if(magic STREQUAL 7f454c46 AND NOT IS_SYMLINK ${program})
			execute_process(COMMAND ${CPACK_RAWSTACK_STRIP} --strip-unneeded --remove-section=.comment
					${program} COMMAND_ERROR_IS_FATAL ANY)
		endif()
	endforeach()
endfunction()

# Libraries stand where those of several architectures can be installed side by side.
function(rawstack_move_libraries usr package)
	file(GLOB libraries ${usr}/lib/lib*.so* ${usr}/lib/lib*.a ${usr}/lib/pkgconfig)
	set(lib ${usr}/lib/${CPACK_RAWSTACK_ARCHITECTURE})
	if(NOT libraries OR NOT CPACK_RAWSTACK_ARCHITECTURE)
		return()
	endif()
	file(MAKE_DIRECTORY ${lib})
	foreach(library IN LISTS libraries)
		get_filename_component(name ${library} NAME)
		file(RENAME ${library} ${lib}/${name})
	endforeach()
	file(GLOB shared ${lib}/lib*.so.*)
	if(shared)
		# A trigger does it; cpack cannot be kept from calling it too.
		file(WRITE ${usr}/share/lintian/overrides/${package}
		     "${package}: maintscript-calls-ldconfig [postinst]\n${package}: maintscript-calls-ldconfig [postrm]\n")
	endif()
	file(GLOB configs ${lib}/pkgconfig/*.pc)
	foreach(config IN LISTS configs)
		file(READ ${config} text)
		string(REPLACE "libdir=/usr/lib" "libdir=/usr/lib/${CPACK_RAWSTACK_ARCHITECTURE}" text "${text}")
		file(WRITE ${config} "${text}")
	endforeach()
	file(GLOB archives ${lib}/*.a)
	foreach(archive IN LISTS archives)
		execute_process(COMMAND ${CPACK_RAWSTACK_STRIP} --strip-debug --remove-section=.comment
				--enable-deterministic-archives ${archive} COMMAND_ERROR_IS_FATAL ANY)
	endforeach()
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
	set(usr ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
	string(TOUPPER ${component} name)
	set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
	if(NOT package)
		set(package ${CPACK_PACKAGE_NAME}-${component})
	endif()

	rawstack_strip_programs(${usr})
	rawstack_move_libraries(${usr} ${package})

	# The licence is one that each Debian system has, so its text is not repeated.
	set(doc ${usr}/share/doc/${package})
	file(REMOVE ${doc}/LICENSE)
	# Not by file(INSTALL): cpack has set DESTDIR.
	configure_file(${CPACK_RAWSTACK_DEBIAN}/copyright ${doc}/copyright COPYONLY
		       FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
	file(WRITE ${doc}/changelog
	     "rawstack (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
	     "  * NEWS says what is new to whoever uses it.\n\n"
	     " -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 1970 00:00:00 +0000\n")
	rawstack_compress(${doc}/changelog)
	configure_file(${CPACK_RAWSTACK_NEWS} ${doc}/NEWS COPYONLY
		       FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
	rawstack_compress(${doc}/NEWS)
	file(GLOB manuals ${usr}/share/man/man1/*.1 ${usr}/share/man/man5/*.5)
	foreach(manual IN LISTS manuals)
		rawstack_compress(${manual})
	endforeach()
endforeach()
