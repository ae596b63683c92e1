# Compiler and linker flags of all targets, and the functions that define libraries and tests.

add_library(recordfs_flags INTERFACE)
target_compile_features(recordfs_flags INTERFACE cxx_std_20)
target_include_directories(recordfs_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(recordfs_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
# Debug information does not name the folders of a build, so that another one makes the same bytes. Paths are relative to the
# build folder, as ccache makes them. That has the name that makes them paths of the checkout, and the last option is used first.
cmake_path(RELATIVE_PATH PROJECT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE from_build_folder)
target_compile_options(recordfs_flags INTERFACE -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=${from_build_folder}
  -fdebug-prefix-map=${PROJECT_BINARY_DIR}=./build/g++ -fdebug-prefix-map=${PROJECT_BINARY_DIR}/=)
if(RECORDFS_WERROR)
  target_compile_options(recordfs_flags INTERFACE -Werror)
endif()
if(NOT RECORDFS_SANITIZE AND NOT RECORDFS_FUZZ)
  # The program reads untrusted files, so it is hardened with Debian's flags.
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  include(CheckPIESupported)
  check_pie_supported()
  if(RECORDFS_STATIC)
    set(CMAKE_CXX_LINK_OPTIONS_PIE -static-pie)
    set(CMAKE_SKIP_RPATH ON)
  endif()
  target_compile_options(recordfs_flags INTERFACE -fstack-protector-strong -fstack-clash-protection -Wformat
    -Werror=format-security $<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)
  target_link_options(recordfs_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
endif()
if(RECORDFS_SANITIZE)
  # Enables assertions, including those of the standard library, which report invalid indexes of a span.
  target_compile_options(recordfs_flags INTERFACE -fsanitize=${RECORDFS_SANITIZE} -fno-omit-frame-pointer -UNDEBUG)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Sanitizers hide from g++ 12 what a flag guards, so it warns of std::optional's contents. The other builds warn.
    target_compile_options(recordfs_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_compile_definitions(recordfs_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(recordfs_flags INTERFACE -fsanitize=${RECORDFS_SANITIZE})
  if(RECORDFS_SANITIZE MATCHES "undefined")
    target_compile_options(recordfs_flags INTERFACE -fno-sanitize-recover=all)
  endif()
endif()
if(RECORDFS_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "RECORDFS_FUZZ needs clang: -D CMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(recordfs_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# recordfs_program(NAME): links an executable for release: with as few shared libraries as possible, because loading them takes
# most of the time of a mount. Most symbols are in the C++ library. scripts/sbom reads NAME.map.
function(recordfs_program name)
  target_link_options(${name} PRIVATE LINKER:-Map=${CMAKE_BINARY_DIR}/${name}.map)
  if(RECORDFS_STATIC)
    target_compile_definitions(${name} PRIVATE RECORDFS_STATIC)
    # It would be a hash of debug information too, and that has the path of the checkout.
    target_link_options(${name} PRIVATE LINKER:--build-id=none)
  elseif(NOT RECORDFS_SANITIZE AND NOT RECORDFS_FUZZ)
    target_link_options(${name} PRIVATE LINKER:--as-needed -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# No BUILD_RPATH or INSTALL_RPATH: CMake ends one of a target that is installed with an empty entry, which means the current
# folder. core/base/own_files.cc finds what programs load and start.

# Debian's folder for libraries, below the prefix.
include(GNUInstallDirs)
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(RECORDFS_LIBRARIES lib/${CMAKE_LIBRARY_ARCHITECTURE})
else()
  set(RECORDFS_LIBRARIES ${CMAKE_INSTALL_LIBDIR})
endif()
# Not directly in it: CPack would then run ldconfig, which a module does not need.
set(RECORDFS_MODULES ${RECORDFS_LIBRARIES}/recordfs)
set(RECORDFS_HELPERS ${CMAKE_INSTALL_LIBEXECDIR}/recordfs)

# recordfs_library(NAME SOURCES a.cc b.cc LINK x y): a static library of the project.
function(recordfs_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC recordfs_flags ${ARG_LINK})
endfunction()

# recordfs_find_archive(NAME MODULE [REQUIRED]): the target PkgConfig::NAME, from the static library if there is one, because a
# program is faster to load with it. NAME_LINK is what to link: the shared library if that is for a module or for another shared
# library, because static libraries of distributions are not position-independent. Those of scripts/static_libraries are.
macro(recordfs_find_archive name module)
  pkg_check_modules(${name}_SHARED ${ARGN} IMPORTED_TARGET GLOBAL ${module})
  set(all_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a ${CMAKE_FIND_LIBRARY_SUFFIXES})
  pkg_check_modules(${name} ${ARGN} IMPORTED_TARGET GLOBAL ${module})
  set(CMAKE_FIND_LIBRARY_SUFFIXES ${all_suffixes})
  set(${name}_LINK $<IF:$<IN_LIST:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY$<SEMICOLON>SHARED_LIBRARY>,PkgConfig::${name}_SHARED,PkgConfig::${name}>)
  if(RECORDFS_STATIC)
    set(${name}_LINK PkgConfig::${name})
  endif()
endmacro()

# Labels a test with its folder in tests/: `ctest -L unit` and `ctest -L unit/store` select a test of tests/unit/store.
# CTest reports a test that exits with status 77 as skipped.
function(recordfs_describe_test name)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests OUTPUT_VARIABLE folder)
  set_tests_properties(${name} PROPERTIES LABELS "${folder}" SKIP_RETURN_CODE 77)
endfunction()

# recordfs_threaded(TEST...): these tests share data between threads. They have the label `threads` too, and run under
# ThreadSanitizer.
function(recordfs_threaded)
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS threads)
endfunction()

# recordfs_test(NAME [THREADED] SOURCES a_test.cc LINK x [PROGRAM p]): GoogleTest tests as one CTest entry. All entries of a
# folder share the program FOLDER_test, or p, since linking one for each takes longer than running it. A unity build compiles
# about twenty sources of a program together. THREADED: as recordfs_threaded().
function(recordfs_test name)
  cmake_parse_arguments(ARG "THREADED" "PROGRAM" "SOURCES;LINK" ${ARGN})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests OUTPUT_VARIABLE folder)
  set(program ${ARG_PROGRAM})
  if(NOT program)
    string(REPLACE "/" "_" program ${folder}_test)
  endif()
  if(NOT TARGET ${program})
    add_executable(${program})
    set_target_properties(${program} PROPERTIES UNITY_BUILD_MODE GROUP)
    # The optimizer takes longer with unit tests than it would save them, and full optimization with the others.
    set(optimization -O1)
    if(folder MATCHES "^unit")
      set(optimization -O0 -U_FORTIFY_SOURCE)
    endif()
    target_compile_options(${program} PRIVATE "$<$<CONFIG:RelWithDebInfo>:${optimization}>")
    target_link_libraries(${program} PRIVATE recordfs_run_tests)
  endif()
  get_target_property(sources ${program} SOURCES)
  list(LENGTH sources group)
  math(EXPR group "${group} / 20")
  set(selected)
  foreach(source IN LISTS ARG_SOURCES)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    get_target_property(sources ${program} SOURCES)
    if(NOT source IN_LIST sources)
      target_sources(${program} PRIVATE ${source})
    endif()
    set_source_files_properties(${source} TARGET_DIRECTORY ${program} PROPERTIES UNITY_GROUP together_${group})
    if(source MATCHES "_test\\.cc$")
      cmake_path(GET source FILENAME file)
      list(APPEND selected ${file})
    endif()
  endforeach()
  target_link_libraries(${program} PRIVATE ${ARG_LINK})
  list(JOIN selected "," selected)
  add_test(NAME ${name} COMMAND ${program} --sources=${selected} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  recordfs_describe_test(${name})
  if(ARG_THREADED)
    recordfs_threaded(${name})
  endif()
  # tests_unit_store builds what `ctest -L unit/store` runs, and tests_unit what `ctest -L unit` does; threads_unit builds those
  # of them that have the label `threads`.
  while(folder)
    set(targets tests)
    if(ARG_THREADED)
      list(APPEND targets threads)
    endif()
    foreach(target IN LISTS targets)
      string(REPLACE "/" "_" target ${target}_${folder})
      if(NOT TARGET ${target})
        add_custom_target(${target})
      endif()
      add_dependencies(${target} ${program})
    endforeach()
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endfunction()

# recordfs_python_test(NAME SCRIPT ARGUMENT...): a Python program as one CTest entry. It can import the modules in tests/.
# Writes no files to the source tree.
function(recordfs_python_test name script)
  cmake_path(ABSOLUTE_PATH script BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  add_test(NAME ${name} COMMAND Python3::Interpreter -B ${script} ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  recordfs_describe_test(${name})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT PYTHONPATH=${PROJECT_SOURCE_DIR}/tests)
endfunction()
