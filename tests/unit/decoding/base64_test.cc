#include "core/decoding/json_writer.h"

#include <gtest/gtest.h>

#include <string>

namespace recordfs {
namespace {

TEST(Base64, ConcatenatedThreeBytePiecesEqualTheWhole) {
  const std::string text = "any carnal pleas";
  std::string whole;
  append_base64(whole, as_bytes(text));
  EXPECT_EQ(whole, "YW55IGNhcm5hbCBwbGVhcw==");
  std::string pieces;
  for (std::size_t at = 0; at < text.size(); at += 3) append_base64(pieces, as_bytes(text.substr(at, 3)));
  EXPECT_EQ(pieces, whole);
}

}  // namespace
}  // namespace recordfs
