# Finds libhighwayhash, which installs neither a pkg-config file nor a CMake package.
# Defines the target HighwayHash::HighwayHash. Prefers the static library, because the shared one needs the shared C++ library.
find_path(HighwayHash_INCLUDE_DIR highwayhash/c_bindings.h)
find_library(HighwayHash_LIBRARY NAMES libhighwayhash.a highwayhash)
mark_as_advanced(HighwayHash_INCLUDE_DIR HighwayHash_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HighwayHash REQUIRED_VARS HighwayHash_LIBRARY HighwayHash_INCLUDE_DIR)

if(HighwayHash_FOUND AND NOT TARGET HighwayHash::HighwayHash)
  add_library(HighwayHash::HighwayHash UNKNOWN IMPORTED)
  set_target_properties(HighwayHash::HighwayHash PROPERTIES
    IMPORTED_LOCATION ${HighwayHash_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${HighwayHash_INCLUDE_DIR})
endif()
