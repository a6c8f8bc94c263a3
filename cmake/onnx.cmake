# The messages of import/onnx/format.proto as C++, in a library of objects of their own: generated code keeps none of our warnings.
find_package(Protobuf REQUIRED)
set(REPRISE_ONNX_GENERATED ${PROJECT_BINARY_DIR}/generated)
set(generated ${REPRISE_ONNX_GENERATED}/import/onnx/format.pb.cc ${REPRISE_ONNX_GENERATED}/import/onnx/format.pb.h)
file(MAKE_DIRECTORY ${REPRISE_ONNX_GENERATED})
add_custom_command(OUTPUT ${generated} COMMAND ${Protobuf_PROTOC_EXECUTABLE} --cpp_out=${REPRISE_ONNX_GENERATED} -I${PROJECT_SOURCE_DIR} import/onnx/format.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/import/onnx/format.proto WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "Generating the messages of ONNX files" VERBATIM)
add_library(reprise_onnx_format OBJECT ${generated})
target_include_directories(reprise_onnx_format SYSTEM PRIVATE ${Protobuf_INCLUDE_DIRS} ${REPRISE_ONNX_GENERATED})
target_link_libraries(reprise_onnx_format PRIVATE reprise_flags)
target_compile_options(reprise_onnx_format PRIVATE -w)
if(REPRISE_SANITIZE)  # a list with a comma: no generator expression takes it
  target_compile_options(reprise_onnx_format PRIVATE -O0)
endif()
set_property(GLOBAL APPEND PROPERTY REPRISE_ROOMS onnx_format)
