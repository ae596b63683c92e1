
#include <gtest/gtest.h>

#include <algorithm>

#include "core/codec/codec.h"

namespace recordfs {
namespace {

std::string version_of(std::string_view name) {
  const auto versions = codec_versions();
  const auto found = std::ranges::find(versions, name, &CodecVersion::name);
  return found == versions.end() ? "not listed" : found->version;
}

TEST(CodecVersions, EachLinkedLibraryHasAVersion) {
  for (const CodecVersion& one : codec_versions()) {
    if (one.version.empty()) continue;
    EXPECT_EQ(one.version.find_first_not_of("0123456789."), one.version.find_first_of("-+ abcdefghijklmnopqrstuvwxyz"))
        << one.name << ": " << one.version;
    EXPECT_NE(one.version.find('.'), std::string::npos) << one.name << ": " << one.version;
  }
}

TEST(CodecVersions, ListTheCodecsThatTheBuildCanDecompress) {
  EXPECT_EQ(!version_of("zstd").empty(), is_available(CodecId::kZstd));
  EXPECT_EQ(!version_of("brotli").empty(), is_available(CodecId::kBrotli));
  EXPECT_EQ(!version_of("snappy").empty(), is_available(CodecId::kSnappy));
  EXPECT_EQ(!version_of("zlib").empty(), is_available(CodecId::kDeflate));
  EXPECT_EQ(!version_of("lz4").empty(), is_available(CodecId::kLz4Frame));
  EXPECT_EQ(!version_of("lzma").empty(), is_available(CodecId::kLzma));
  EXPECT_EQ(!version_of("lzma").empty(), is_available(CodecId::kXz));
  EXPECT_EQ(!version_of("bzip2").empty(), is_available(CodecId::kBzip2));
}

}  // namespace
}  // namespace recordfs
