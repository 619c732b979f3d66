# Manual pages, made of what the programs' --help prints: by running them, so not where another machine's
# programs are compiled.
if(CMAKE_CROSSCOMPILING)
	return()
endif()

function(rawstack_manual program component what)
	set(page ${PROJECT_BINARY_DIR}/man/${program}.1)
	add_custom_command(
		OUTPUT ${page}
		COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
		COMMAND ${PROJECT_SOURCE_DIR}/cmake/man-page $<TARGET_FILE:${program}> ${what} ${ARGN}
			> ${page}
		DEPENDS ${program} ${PROJECT_SOURCE_DIR}/cmake/man-page
		VERBATIM)
	add_custom_target(${program}_manual ALL DEPENDS ${page})
	install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
endfunction()

rawstack_manual(rawstack cli "resolve addresses, push binaries, look at profiles"
		push ls missing resolve top tree peek list flame diff stats convert merge admin config)
rawstack_manual(rawstack-gsym-build cli "make and read symbol lookup tables" build info lookup verify
		export-gsym bench)
rawstack_manual(rawstack-sampler sampler "sample stacks as bare addresses into a spool" run doctor ship spool
		status)
rawstack_manual(rawstack-ship ship "ship what a sampler spools")
rawstack_manual(rawstack-symbolizer symbolizer "turn raw addresses into functions, files and lines")
