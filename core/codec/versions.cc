#include "core/codec/versions.h"

#include <utility>

#include "core/codec/backend.h"

namespace recordfs {

std::vector<CodecVersion> codec_versions() {
  std::vector<CodecVersion> versions;
  const auto add = [&](std::string_view library, std::string version) {
    versions.push_back({library, std::move(version)});
  };
#ifdef RECORDFS_HAVE_ZSTD
  add("zstd", version_of_zstd());
#else
  add("zstd", {});
#endif
#ifdef RECORDFS_HAVE_BROTLI
  add("brotli", version_of_brotli());
#else
  add("brotli", {});
#endif
#ifdef RECORDFS_HAVE_SNAPPY
  add("snappy", version_of_snappy());
#else
  add("snappy", {});
#endif
#ifdef RECORDFS_HAVE_ZLIB
  add("zlib", version_of_zlib());
#else
  add("zlib", {});
#endif
#ifdef RECORDFS_HAVE_LIBDEFLATE
  add("libdeflate", version_of_libdeflate());
#else
  add("libdeflate", {});
#endif
#ifdef RECORDFS_HAVE_LZ4
  add("lz4", version_of_lz4());
#else
  add("lz4", {});
#endif
#ifdef RECORDFS_HAVE_LZMA
  add("lzma", version_of_lzma());
#else
  add("lzma", {});
#endif
#ifdef RECORDFS_HAVE_BLOSC
  add("blosc", version_of_blosc());
#else
  add("blosc", {});
#endif
  return versions;
}

}  // namespace recordfs
