# libreprise-rt (target reprise_rt_shared, reprise::rt): exported programs without a compiler (docs/runtime.md). It is a
# link of the library's own objects: what the C interface of rt/ reaches, and nothing else (--gc-sections). LLVM,
# protobuf and Z3 are not there to be linked. Under sanitizers every global is reached from their tables, and without
# optimization from code that is never run, so there is no such library. The room is no part of libreprise itself:
# programs may link to both.
reprise_room(rt)
if(REPRISE_SANITIZE OR REPRISE_LIBFUZZER OR CMAKE_BUILD_TYPE STREQUAL "Debug" OR CMAKE_SYSTEM_NAME MATCHES "Darwin|Windows")
  return()
endif()
set(objects "")
get_property(rooms GLOBAL PROPERTY REPRISE_ROOMS)
list(FILTER rooms INCLUDE REGEX "^(base|guards|device|tensor|graph|autograd|passes|kernels|jit|operators|runtime)(_rare)?$")
foreach(room IN LISTS rooms)
  list(APPEND objects $<TARGET_OBJECTS:reprise_${room}>)
endforeach()
add_library(reprise_rt_parts STATIC EXCLUDE_FROM_ALL ${objects})
add_library(reprise_rt_shared SHARED $<TARGET_OBJECTS:reprise_rt>)
add_library(reprise::rt ALIAS reprise_rt_shared)
set_target_properties(reprise_rt_shared PROPERTIES OUTPUT_NAME reprise-rt VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME rt
                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/rt/exports.map)
target_link_libraries(reprise_rt_shared PRIVATE reprise_rt_parts Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(reprise_rt_shared PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(reprise_rt_shared PRIVATE -Wl,--gc-sections -Wl,-z,defs -Wl,--as-needed
                    -Wl,--version-script=${PROJECT_SOURCE_DIR}/rt/exports.map)
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=mold REPRISE_MOLD)
if(REPRISE_MOLD)
  target_link_options(reprise_rt_shared PRIVATE -fuse-ld=mold)
endif()
if(REPRISE_HARDEN)
  target_link_options(reprise_rt_shared PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

# The examples of the interface are in C (examples/rt).
include(CheckLanguage)
check_language(C)
if(CMAKE_C_COMPILER)
  enable_language(C)
endif()
