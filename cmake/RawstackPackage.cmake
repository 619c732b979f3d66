# `cpack` in a build directory makes eight .debs, for who installs them differs: hosts that are sampled
# need neither gRPC nor TLS, and get them only with the shipper.
#
#   rawstack             the command line, and what makes tables
#   rawstack-sampler     the sampler and its unit
#   rawstack-ship        the shipper and its unit
#   rawstack-symbolizer  the service and its unit
#   librsym0, librsym-dev, librawstack-profile0, librawstack-profile-dev
#                        the libraries for programs of others, and what compiles such programs
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rawstack)
set(CPACK_PACKAGE_VENDOR "The Rawstack authors")
set(CPACK_PACKAGE_CONTACT "The Rawstack authors <rawstack@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL cli sampler ship symbolizer
    librsym librsym-dev librawstack-profile librawstack-profile-dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# What is behind the project's own description, which is the first line of each.
set(CPACK_COMPONENT_CLI_DESCRIPTION
"The command line: resolves addresses to functions and lines, uploads debug
files to the service, and shows profiles as tables, trees and flame graphs.")
set(CPACK_COMPONENT_SAMPLER_DESCRIPTION
"The sampler: takes the stacks of running programs by eBPF as bare addresses
and keeps them in a bounded spool on disk. It opens no network connection;
rawstack-ship delivers what it keeps.")
set(CPACK_COMPONENT_SHIP_DESCRIPTION
"The shipper: delivers what rawstack-sampler keeps to a rawstack-symbolizer,
and writes profiles with names.")
set(CPACK_COMPONENT_SYMBOLIZER_DESCRIPTION
"The service: builds compact lookup tables of the debug files that it is
given, and answers batches of stacks with functions, files, lines and inlined
calls.")

set(CPACK_COMPONENT_LIBRSYM_DESCRIPTION
"The library that looks up addresses in symbol tables of rawstack-gsym-build:
functions, files, lines and inlined calls, without reading ELF or DWARF.")
set(CPACK_COMPONENT_LIBRSYM-DEV_DESCRIPTION
"What compiles programs with librsym, which looks up addresses in symbol
tables: its header, the static library and an example.")
set(CPACK_COMPONENT_LIBRAWSTACK-PROFILE_DESCRIPTION
"The library that reads and writes sampled profiles: pprof, perf.data, perf
script, folded stacks, spools of rawstack-sampler, and other formats.")
set(CPACK_COMPONENT_LIBRAWSTACK-PROFILE-DEV_DESCRIPTION
"What compiles programs with librawstack-profile, which reads and writes
sampled profiles: its header, the static library and an example.")

# What these packages hold was in the one package rawstack before version 0.2.0.
set(split "rawstack (<< 0.2.0)")
set(same "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLI_PACKAGE_NAME rawstack)
foreach(component SAMPLER SHIP SYMBOLIZER)
	set(CPACK_DEBIAN_${component}_PACKAGE_SECTION admin)
	set(CPACK_DEBIAN_${component}_PACKAGE_BREAKS ${split})
	set(CPACK_DEBIAN_${component}_PACKAGE_REPLACES ${split})
endforeach()
set(CPACK_DEBIAN_SAMPLER_PACKAGE_RECOMMENDS rawstack-ship)
set(CPACK_DEBIAN_SHIP_PACKAGE_ENHANCES rawstack-sampler)
# The worker that makes tables; the two speak a protocol that is theirs alone.
set(CPACK_DEBIAN_SYMBOLIZER_PACKAGE_DEPENDS "rawstack ${same}")

# The name of a library's package has its soname's version, so that two versions can be installed side by
# side. dpkg-shlibdeps finds who needs it, and since which version, by the files shlibs and symbols.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
foreach(library rsym rawstack-profile)
	string(TOUPPER ${library} name)
	set(control ${PROJECT_BINARY_DIR}/debian/lib${library})
	file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
	file(GLOB map gsym-build/*/lib${library}.map sampler/*/${library}.map)
	file(STRINGS ${map} lines REGEX "^([A-Z_0-9.]+ {|\t[a-z_]+;)$")
	set(symbols "lib${library}.so.${RAWSTACK_SOVERSION} lib${library}${RAWSTACK_SOVERSION} #MINVER#\n")
	string(APPEND symbols "* Build-Depends-Package: lib${library}-dev\n")
	foreach(line IN LISTS lines)
		if(line MATCHES "^([A-Z_]+_([0-9.]+)) {$")
			set(node ${CMAKE_MATCH_1})
			set(since ${CMAKE_MATCH_2}.0)
			string(APPEND symbols " ${node}@${node} ${since}\n")
		elseif(line MATCHES "^\t([a-z_]+);$")
			string(APPEND symbols " ${CMAKE_MATCH_1}@${node} ${since}\n")
		endif()
	endforeach()
	file(WRITE ${control}/symbols "${symbols}")
	set(CPACK_DEBIAN_LIB${name}_PACKAGE_CONTROL_EXTRA ${control}/triggers ${control}/symbols)
	set(CPACK_DEBIAN_LIB${name}_PACKAGE_NAME lib${library}${RAWSTACK_SOVERSION})
	set(CPACK_DEBIAN_LIB${name}_PACKAGE_SECTION libs)
	set(CPACK_DEBIAN_LIB${name}-DEV_PACKAGE_NAME lib${library}-dev)
	set(CPACK_DEBIAN_LIB${name}-DEV_PACKAGE_SECTION libdevel)
endforeach()
set(CPACK_DEBIAN_LIBRSYM-DEV_PACKAGE_DEPENDS "librsym${RAWSTACK_SOVERSION} ${same}, libzstd-dev")
set(CPACK_DEBIAN_LIBRAWSTACK-PROFILE-DEV_PACKAGE_DEPENDS
    "librawstack-profile${RAWSTACK_SOVERSION} ${same}, libzstd-dev, zlib1g-dev, libisal-dev")

# rawstack_package_unit(<component> STATE <directory in /var/lib> [CONTENT <what in it>] [AFTER_RELOAD
# <command>]): maintainer scripts of a package with one unit, which purge that.
function(rawstack_package_unit component)
	# PARSE_ARGV: a command may have semicolons.
	cmake_parse_arguments(PARSE_ARGV 1 arg "" "STATE;CONTENT;AFTER_RELOAD" "")
	set(package rawstack-${component})
	set(unit ${package}.service)
	set(state ${arg_STATE})
	set(content ${arg_CONTENT})
	set(after_reload "${arg_AFTER_RELOAD}")
	set(scripts)
	foreach(script postinst prerm postrm)
		set(output ${PROJECT_BINARY_DIR}/debian/${component}/${script})
		configure_file(cmake/debian/${script}.in ${output} @ONLY)
		list(APPEND scripts ${output})
	endforeach()
	# dpkg keeps what an administrator changed there, and purging removes it.
	set(conffiles ${PROJECT_BINARY_DIR}/debian/${component}/conffiles)
	file(WRITE ${conffiles} "/etc/rawstack/${component}.conf\n")
	list(APPEND scripts ${conffiles})
	string(TOUPPER ${component} name)
	set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_EXTRA "${scripts}" PARENT_SCOPE)
endfunction()
# What the package's sysctl.d file sets, unless a file of the administrator says otherwise: told, for it
# is a setting of the whole machine.
rawstack_package_unit(sampler STATE rawstack CONTENT spool AFTER_RELOAD
[[level=/proc/sys/kernel/perf_event_paranoid
if [ "$(cat $level 2>/dev/null || echo 0)" -gt 2 ]; then
	/lib/systemd/systemd-sysctl --prefix=/kernel/perf_event_paranoid || true
	[ "$(cat $level)" -gt 2 ] ||
		echo "kernel.perf_event_paranoid is 2 now: /usr/lib/sysctl.d/50-rawstack-sampler.conf says why"
fi]])
rawstack_package_unit(ship STATE rawstack CONTENT profiles)
rawstack_package_unit(symbolizer STATE rawstack-symbolizer)

# Read by cpack itself, when a package is made; and what is done to the files of a package then.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/PackageChecks.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/PackageFiles.cmake)
set(CPACK_RAWSTACK_ARCHITECTURE ${CMAKE_LIBRARY_ARCHITECTURE})
set(CPACK_RAWSTACK_NEWS ${PROJECT_SOURCE_DIR}/NEWS)
set(CPACK_RAWSTACK_STRIP ${CMAKE_STRIP})
set(CPACK_RAWSTACK_DEBIAN ${CMAKE_CURRENT_LIST_DIR}/debian)
include(CPack)
