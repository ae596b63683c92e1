#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "core/base/request_context.h"
#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::Packer;
using testing::text_of;

std::vector<Packer> all_packers() {
  std::vector<Packer> all = testing::packers();
  all.push_back({CodecId::kNone, [](std::string_view text) { return std::string(text); }});
  return all;
}

// Returns everything read in pieces of `step` bytes, or the name of the failure.
std::string read_in_steps(CodecId codec, Bytes stored, std::size_t step) {
  auto stream = open_stream(codec, stored);
  if (!stream) return std::string(to_string(stream.error().code));
  std::string all;
  Guarded piece(step);
  for (;;) {
    auto got = (*stream)->read({}, piece.span());
    if (!got) return std::string(to_string(got.error().code));
    all += as_text(piece.view().first(*got));
    if (*got < step) return all;
  }
}

// Returns a stream of as many compressible bytes as count as slow. Compresses once for each codec.
const std::string& slow_stream(const Packer& packer) {
  static std::map<CodecId, std::string> streams;
  std::string& stream = streams[packer.codec];
  if (stream.empty()) stream = packer.pack(std::string(RequestContext::kSlow + 1, 'x'));
  return stream;
}

TEST(DecodeStream, NonBlockingThreadIsRefusedTheEndOfALongStream) {
  for (const auto& [codec, pack] : testing::packers()) {
    const std::string& stored = slow_stream({codec, pack});
    RequestContext::Attempt attempt;
    const RequestContext quick(RequestContext::Permission::kNonBlocking, attempt);
    EXPECT_EQ(decompressed_size(quick, codec, as_bytes(stored), UINT64_MAX).error().code, Code::kPending)
        << to_string(codec);
    EXPECT_TRUE(quick.was_refused());
  }
}

TEST(DecodeStream, CancellationInterruptsALongRead) {
  for (const auto& [codec, pack] : testing::packers()) {
    const std::string& stored = slow_stream({codec, pack});
    std::atomic<bool> cancelled{false};
    const RequestContext context(cancelled);
    auto stream = open_stream(codec, as_bytes(stored));
    ASSERT_TRUE(stream);
    Guarded out(1 << 20);
    ASSERT_TRUE((*stream)->read(context, out.span()));
    cancelled = true;
    EXPECT_EQ((*stream)->read(context, out.span()).error().code, Code::kInterrupted) << to_string(codec);
    EXPECT_EQ(decompress(context, codec, as_bytes(stored), 0, UINT64_MAX).error().code, Code::kInterrupted)
        << to_string(codec);
  }
}

TEST(DecodeStream, PiecesOfAnySizeEqualTheWhole) {
  for (const std::size_t size : {0u, 1u, 1000u, 200000u}) {
    const std::string text = text_of(size);
    for (const auto& [codec, pack] : all_packers()) {
      const std::string packed = pack(text);
      const Guarded stored(as_bytes(packed));
      for (const std::size_t step : {std::size_t{7}, std::size_t{4096}, size, size + 1}) {
        if (step == 0) continue;
        EXPECT_TRUE(read_in_steps(codec, stored.view(), step) == text) << to_string(codec) << ' ' << step;
      }
    }
  }
}

TEST(DecodeStream, BeginningNeedsOnlyTheFirstBytesOfTheStream) {
  const std::string text = text_of(1000000);
  for (const auto& [codec, pack] : all_packers()) {
    if (codec == CodecId::kSnappy) continue;  // cannot be decompressed in part
    const std::string packed = pack(text);
    const Guarded stored(as_bytes(packed).first(packed.size() / 2));
    auto stream = open_stream(codec, stored.view());
    ASSERT_TRUE(stream);
    Guarded out(1000);
    auto got = (*stream)->read({}, out.span());
    ASSERT_TRUE(got) << to_string(codec);
    EXPECT_EQ(as_text(out.view()), text.substr(0, 1000));
  }
}

TEST(DecodeStream, ReadsAfterTheEndReturnNothing) {
  for (const auto& [codec, pack] : all_packers()) {
    const std::string packed = pack("text");
    auto stream = open_stream(codec, as_bytes(packed));
    ASSERT_TRUE(stream);
    Guarded out(10);
    for (const std::size_t expected : {4u, 0u, 0u}) {
      auto got = (*stream)->read({}, out.span());
      ASSERT_TRUE(got) << to_string(codec);
      EXPECT_EQ(*got, expected) << to_string(codec);
    }
  }
}

TEST(DecodeStream, EmptyReadChangesNothing) {
  for (const auto& [codec, pack] : all_packers()) {
    const std::string packed = pack("text");
    auto stream = open_stream(codec, as_bytes(packed));
    ASSERT_TRUE(stream);
    EXPECT_EQ(*(*stream)->read({}, {}), 0u);
    Guarded out(4);
    EXPECT_EQ(*(*stream)->read({}, out.span()), 4u);
    EXPECT_EQ(as_text(out.view()), "text");
  }
}

TEST(DecodeStream, FailureIsRepeated) {
  for (const auto& [codec, pack] : testing::packers()) {
    const std::string packed = pack(text_of(10000));
    const Guarded stored(as_bytes(packed).first(packed.size() - 1));
    auto stream = open_stream(codec, stored.view());
    ASSERT_TRUE(stream);
    Guarded out(20000);
    for (int attempt = 0; attempt < 3; ++attempt) {
      auto got = (*stream)->read({}, out.span());
      ASSERT_FALSE(got) << to_string(codec);
      EXPECT_EQ(got.error().code, Code::kDamage);
    }
  }
}

TEST(DecodeStream, AnotherThreadMayDestroyIt) {
  const std::string text = text_of(100000);
  for (const auto& [codec, pack] : all_packers()) {
    const std::string packed = pack(text);
    auto stream = open_stream(codec, as_bytes(packed));
    ASSERT_TRUE(stream);
    std::thread([owned = std::move(*stream)]() mutable { owned.reset(); }).join();
    EXPECT_TRUE(read_in_steps(codec, as_bytes(packed), 1000) == text);
  }
}

TEST(DecodeStream, TwoStreamsOnOneThreadAreIndependent) {
  const std::string one = text_of(50000);
  const std::string other(50000, 'x');
  for (const auto& [codec, pack] : all_packers()) {
    const std::string packed_one = pack(one);
    const std::string packed_other = pack(other);
    auto first = open_stream(codec, as_bytes(packed_one));
    auto second = open_stream(codec, as_bytes(packed_other));
    ASSERT_TRUE(first && second);
    for (std::size_t at = 0; at < 50000; at += 1000) {
      Guarded out(1000);
      ASSERT_EQ(*(*first)->read({}, out.span()), 1000u);
      ASSERT_EQ(as_text(out.view()), one.substr(at, 1000));
      ASSERT_EQ(*(*second)->read({}, out.span()), 1000u);
      ASSERT_EQ(as_text(out.view()), other.substr(at, 1000));
    }
  }
}

}  // namespace
}  // namespace recordfs
