#include "core/codec/versions.h"

#include <algorithm>
#include <utility>

#include "core/codec/backend.h"

namespace recordfs {

std::vector<CodecVersion> codec_versions() {
  std::vector<CodecVersion> versions;
  for (const std::string_view name : {"zstd", "brotli", "snappy", "zlib", "libdeflate", "lz4", "lzma", "blosc"}) {
    versions.push_back({name, {}});
  }
  const auto set = [&](std::string_view name, std::string version) {
    std::ranges::find(versions, name, &CodecVersion::name)->version = std::move(version);
  };
#ifdef RECORDFS_HAVE_ZSTD
  set("zstd", version_of_zstd());
#endif
#ifdef RECORDFS_HAVE_BROTLI
  set("brotli", version_of_brotli());
#endif
#ifdef RECORDFS_HAVE_SNAPPY
  set("snappy", version_of_snappy());
#endif
#ifdef RECORDFS_HAVE_ZLIB
  set("zlib", version_of_zlib());
#endif
#ifdef RECORDFS_HAVE_LIBDEFLATE
  set("libdeflate", version_of_libdeflate());
#endif
#ifdef RECORDFS_HAVE_LZ4
  set("lz4", version_of_lz4());
#endif
#ifdef RECORDFS_HAVE_LZMA
  set("lzma", version_of_lzma());
#endif
#ifdef RECORDFS_HAVE_BLOSC
  set("blosc", version_of_blosc());
#endif
  return versions;
}

}  // namespace recordfs
