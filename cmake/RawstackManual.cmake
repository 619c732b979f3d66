# Manual pages, made of what the programs' --help prints, of FORMAT.md files and of examples: by running
# programs, so not where another machine's programs are compiled.
if(CMAKE_CROSSCOMPILING)
	return()
endif()

# rawstack_page(<page> <section> <component> <words for man-page>... DEPENDS <what it is made of>...)
function(rawstack_page name section component)
	cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
	set(page ${PROJECT_BINARY_DIR}/man/${name}.${section})
	set(examples ${PROJECT_SOURCE_DIR}/cmake/man/${name}.examples)
	add_custom_command(
		OUTPUT ${page}
		COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
		COMMAND ${PROJECT_SOURCE_DIR}/cmake/man-page ${arg_UNPARSED_ARGUMENTS} > ${page}
		DEPENDS ${arg_DEPENDS} ${examples} ${PROJECT_SOURCE_DIR}/cmake/man-page
		VERBATIM)
	add_custom_target(${name}_manual ALL DEPENDS ${page})
	install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component})
endfunction()

function(rawstack_manual program component what)
	rawstack_page(${program} 1 ${component} program $<TARGET_FILE:${program}> ${what} ${ARGN} DEPENDS ${program})
endfunction()

# The configuration file of a daemon; a command may follow that its options stand behind.
function(rawstack_config_manual program component file prefix)
	rawstack_page(${program}.conf 5 ${component} config $<TARGET_FILE:${program}> /etc/rawstack/${file}
		      ${prefix} ${ARGN} DEPENDS ${program})
endfunction()

function(rawstack_format_manual name component what markdown)
	set(source ${PROJECT_SOURCE_DIR}/${markdown})
	rawstack_page(${name} 5 ${component} format ${name} ${what} ${source} DEPENDS ${source})
endfunction()

rawstack_manual(rawstack cli "resolve addresses, push binaries, look at profiles"
		push ls missing status resolve top tree peek list flame diff stats convert merge admin config)
rawstack_manual(rawstack-gsym-build cli "make and read symbol lookup tables" build info lookup verify
		export-gsym bench)
rawstack_manual(rawstack-sampler sampler "sample stacks as bare addresses into a spool" run doctor ship spool
		status)
rawstack_manual(rawstack-ship ship "ship what a sampler spools")
rawstack_manual(rawstack-symbolizer symbolizer "turn raw addresses into functions, files and lines")

rawstack_config_manual(rawstack-sampler sampler sampler.conf RAWSTACK_SAMPLER_ run)
rawstack_config_manual(rawstack-ship ship ship.conf RAWSTACK_SHIP_)
rawstack_config_manual(rawstack-symbolizer symbolizer symbolizer.conf RAWSTACK_SYMBOLIZER_)

rawstack_page(rawstack.conf 5 cli user $<TARGET_FILE:rawstack> config DEPENDS rawstack)

rawstack_format_manual(rawstack-roles symbolizer "certificates, tokens, roles and quotas of clients"
		       symbolizer/CERTIFICATES.md)
rawstack_format_manual(rsym cli "lookup tables of addresses to functions, files and lines" gsym-build/FORMAT.md)
rawstack_format_manual(spool sampler "samples on the disk of a host, until they are shipped" sampler/FORMAT.md)
