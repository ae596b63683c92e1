# Writes OUTPUT, which defines build_id(): a hash of CODECS and of the contents of SOURCES.
#   cmake -D OUTPUT=build_id.cc -D "CODECS=A;B" -D "SOURCES=a.cc;b.cc" -P scripts/cmake/build_id.cmake
set(content "${CODECS}")
foreach(source IN LISTS SOURCES)
  file(SHA256 ${source} hash)
  string(APPEND content "\n${hash}")
endforeach()
string(SHA256 id "${content}")
file(WRITE ${OUTPUT} "#include \"core/store/open_container.h\"\n\nstd::string recordfs::build_id() { return \"${id}\"; }\n")
