# REPRISE_UNITY: sources of one folder, and what is left over of several, are compiled together, up to eight as one, which
# parses and instantiates once what they share. For builds from nothing
# (`./run test`, continuous integration); a change of one source then compiles all that it is together with, so that a build somebody
# works in is better without. unity.py finds sources whose own names are apart, each time that CMake runs: a name that a change brings
# to two of them is an error until it runs again.
find_program(REPRISE_PYTHON NAMES python3 DOC "python3, for the tests of the documents and REPRISE_UNITY")
set(REPRISE_UNITY_EXCEPT "" CACHE STRING "with REPRISE_UNITY: folders whose sources are compiled alone all the same, those you work in (kernels/cpu;jit/cpu)")

function(reprise_unity target)
  if(NOT REPRISE_UNITY OR NOT REPRISE_PYTHON)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(paths "")
  list(JOIN REPRISE_UNITY_EXCEPT "|" except)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${path})
    get_source_file_property(options ${path} COMPILE_OPTIONS)
    if(source MATCHES "^[^$]*[.]cc$" AND NOT options AND NOT (except AND name MATCHES "^(${except})/"))
      list(APPEND paths ${path})
    endif()
  endforeach()
  execute_process(COMMAND ${REPRISE_PYTHON} -B ${PROJECT_SOURCE_DIR}/cmake/unity.py ${PROJECT_SOURCE_DIR} 8 ${paths} OUTPUT_VARIABLE units COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" units "${units}")
  foreach(line IN LISTS units)
    string(REPLACE " " ";" line ${line})
    list(GET line 0 unit)
    list(GET line 1 source)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # What is in an anonymous namespace of an included source is so no less.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
