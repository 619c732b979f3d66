# How targets are made here: one function per kind, so that flags stand in one place.

add_library(rawstack_flags INTERFACE)
target_compile_features(rawstack_flags INTERFACE c_std_17)
target_compile_definitions(rawstack_flags INTERFACE _GNU_SOURCE)
target_compile_options(rawstack_flags INTERFACE
	-std=gnu17 -fno-omit-frame-pointer -fstack-protector-strong
	-Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes
	-Wpointer-arith -Wcast-qual -Wcast-align -Wwrite-strings -Wimplicit-fallthrough
	# a message cut at its buffer's end is what we want
	$<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>
	$<$<BOOL:${RAWSTACK_WERROR}>:-Werror>
	$<$<CONFIG:Release,RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
target_link_options(rawstack_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)
if(RAWSTACK_SANITIZE)
	target_compile_options(rawstack_flags INTERFACE -fsanitize=${RAWSTACK_SANITIZE}
			       -fno-sanitize-recover=all)
	target_link_options(rawstack_flags INTERFACE -fsanitize=${RAWSTACK_SANITIZE})
endif()
if(RAWSTACK_FUZZ)
	target_compile_options(rawstack_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# What the public libraries promise to programs that were built with an older one. It grows when a symbol
# leaves them or changes its meaning.
set(RAWSTACK_SOVERSION 0)

# The flags of rawstack_flags are for our own sources only, so targets take them as PRIVATE.
function(rawstack_library name)
	cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
	add_library(${name} STATIC ${arg_SOURCES})
	# Nobody may put another function in the place of one of ours, so compilers need not leave room
	# for that: a fortieth less time for a build of a table.
	set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
	target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
	target_link_libraries(${name} PRIVATE rawstack_flags PUBLIC ${arg_LINK})
endfunction()

# rawstack_public_library(<name> SOURCES ... HEADER <file> MAP <version script> EXAMPLE <file> LINK <our libraries>
# OUTSIDE <libraries of others> REQUIRES <their pkg-config modules> ABOUT <one line>): lib<name>, which is
# installed, shared and static, with its header, a pkg-config file and an example. Ours go into both, and
# nobody sees them: the shared one exports what the version script names, and the static one is a single
# object whose hidden symbols are local, so that a program may have a buf_append() of its own.
# The components are lib<name> (to run) and lib<name>-dev (to build).
function(rawstack_public_library name)
	cmake_parse_arguments(arg "" "HEADER;MAP;EXAMPLE;ABOUT" "SOURCES;LINK;OUTSIDE;REQUIRES" ${ARGN})
	set(map ${CMAKE_CURRENT_SOURCE_DIR}/${arg_MAP})
	rawstack_library(rawstack_public_${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} ${arg_OUTSIDE})

	add_library(lib${name} SHARED ${arg_HEADER})
	set_target_properties(lib${name} PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION}
			      SOVERSION ${RAWSTACK_SOVERSION} LINK_DEPENDS ${map}
			      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
	target_link_options(lib${name} PRIVATE -Wl,--version-script=${map} -Wl,--no-undefined)
	target_link_libraries(lib${name} PRIVATE rawstack_flags -Wl,--whole-archive
			      $<TARGET_FILE:rawstack_public_${name}> -Wl,--no-whole-archive
			      rawstack_public_${name})

	set(ours)
	foreach(library IN LISTS arg_LINK)
		list(APPEND ours $<TARGET_FILE:${library}>)
	endforeach()
	set(object ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.o)
	set(archive ${PROJECT_BINARY_DIR}/lib/lib${name}.a)
	add_custom_command(
		OUTPUT ${archive}
		COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${object} -Wl,--whole-archive
			$<TARGET_FILE:rawstack_public_${name}> -Wl,--no-whole-archive
			-Wl,--start-group ${ours} -Wl,--end-group
		COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${object}
		COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/lib
		COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
		COMMAND ${CMAKE_AR} rcsD ${archive} ${object}
		DEPENDS rawstack_public_${name} ${arg_LINK}
		VERBATIM)
	add_custom_target(lib${name}_static ALL DEPENDS ${archive})
	# The example compiles; tests/cli/libraries links it with what is installed.
	add_library(lib${name}_example OBJECT ${arg_EXAMPLE})
	target_include_directories(lib${name}_example PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
	target_link_libraries(lib${name}_example PRIVATE rawstack_flags)

	install(TARGETS lib${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
		COMPONENT lib${name} NAMELINK_COMPONENT lib${name}-dev)
	install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib${name}-dev)
	install(FILES ${arg_HEADER} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT lib${name}-dev)
	install(FILES ${arg_EXAMPLE} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/lib${name}-dev/examples
		COMPONENT lib${name}-dev)
	list(JOIN arg_REQUIRES ", " requires)
	install(CODE "
		set(name ${name})
		set(about \"${arg_ABOUT}\")
		set(version ${PROJECT_VERSION})
		set(requires \"${requires}\")
		set(libdir \"${CMAKE_INSTALL_LIBDIR}\")
		set(includedir \"${CMAKE_INSTALL_INCLUDEDIR}\")
		include(${PROJECT_SOURCE_DIR}/cmake/InstallPkgConfig.cmake)"
		COMPONENT lib${name}-dev)
endfunction()

# rawstack_executable(<name> SOURCES ... LINK ... COMPONENT <package> [DESTINATION <dir>]): without
# DESTINATION it goes to bin; NOINSTALL keeps it in the build tree. All programs stand in <build>/bin, so that a
# program finds its helpers beside itself in a build tree.
function(rawstack_executable name)
	cmake_parse_arguments(arg "NOINSTALL" "COMPONENT;DESTINATION" "SOURCES;LINK" ${ARGN})
	add_executable(${name} ${arg_SOURCES})
	target_link_libraries(${name} PRIVATE rawstack_flags ${arg_LINK})
	set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
	if(NOT arg_NOINSTALL)
		if(NOT arg_DESTINATION)
			set(arg_DESTINATION ${CMAKE_INSTALL_BINDIR})
		endif()
		install(TARGETS ${name} RUNTIME DESTINATION ${arg_DESTINATION}
			COMPONENT ${arg_COMPONENT})
	endif()
endfunction()

# rawstack_unit_file(<unit> <component>): a systemd unit that says @CMAKE_INSTALL_FULL_BINDIR@ and the
# like. Which directories these are is known when it is installed, not before: `cmake --install
# --prefix` and cpack change the prefix that was configured.
function(rawstack_unit_file unit component)
	install(CODE "
		set(unit ${CMAKE_CURRENT_SOURCE_DIR}/${unit})
		set(bindir \"${CMAKE_INSTALL_BINDIR}\")
		set(libexecdir \"${CMAKE_INSTALL_LIBEXECDIR}\")
		set(sysconfdir \"${CMAKE_INSTALL_SYSCONFDIR}\")
		include(${PROJECT_SOURCE_DIR}/cmake/InstallUnit.cmake)"
		COMPONENT ${component})
endfunction()

# rawstack_config_file(<file> <component>): the configuration file of a daemon, <sysconfdir>/rawstack/<file>.
function(rawstack_config_file config component)
	install(CODE "
		set(config ${CMAKE_CURRENT_SOURCE_DIR}/${config})
		set(sysconfdir \"${CMAKE_INSTALL_SYSCONFDIR}\")
		include(${PROJECT_SOURCE_DIR}/cmake/InstallConfig.cmake)"
		COMPONENT ${component})
endfunction()

# rawstack_bpf_skeleton(<name> <source> <header>...): the BPF programs of a source and their
# skeleton, <name>.skel.h, in the build tree. Freestanding: clang's own <stdint.h>, not that of a
# machine it is not compiled for.
function(rawstack_bpf_skeleton name source)
	set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
	set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
	add_custom_command(
		OUTPUT ${object}
		COMMAND ${RAWSTACK_CLANG} -target bpf -mcpu=v3 -g -O2 -ffreestanding -Wall -Wextra -Werror
			-I${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
			-I${RAWSTACK_libbpf_INCLUDE} -I${PROJECT_SOURCE_DIR}/sampler/bpf
			-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
			-c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
		DEPENDS ${source} ${ARGN}
		VERBATIM)
	add_custom_command(
		OUTPUT ${skeleton}
		COMMAND sh -c "'${RAWSTACK_BPFTOOL}' gen skeleton '${object}' name ${name} > '${skeleton}'"
		DEPENDS ${object}
		VERBATIM)
endfunction()
