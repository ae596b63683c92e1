#include "core/formats/chunk.h"

#include <string>

#include <gtest/gtest.h>

namespace recordfs {
namespace {

// A file of letters that another program touches during each of the next reads.
class TouchedSource final : public Source {
 public:
  explicit TouchedSource(int touches) : touches_(touches) {}
  std::uint64_t size() const override { return 26; }
  std::uint64_t generation() const override { return generation_; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    if (touches_-- > 0) ++generation_;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>('a' + at + i);
    return out.size();
  }

 private:
  mutable int touches_;
  mutable std::uint64_t generation_ = 5;
};

struct Reading {
  explicit Reading(int touches) : source(std::make_shared<TouchedSource>(touches)) {}
  Result<std::string> read(std::function<Result<void>(const RequestContext&, const Source&)> again) {
    Layout layout;
    layout.add({}, 20);
    const auto counting = [this, again = std::move(again)](const RequestContext& context, const Source& from) {
      ++verifications;
      return again(context, from);
    };
    const FileChunk chunk(source, std::move(layout), FileChunk::stored_at(2),
                          FileChunk::Verified{.generation = 5, .begin = 1, .again = counting});
    ASSIGN_OR_RETURN(const auto slice, chunk.read({}, 3, 4));
    return std::string(as_text(slice.bytes));
  }

  std::shared_ptr<const TouchedSource> source;
  int verifications = 0;
};

Result<void> is_sound(const RequestContext&, const Source&) { return {}; }

TEST(FileChunk, PayloadOfAnUntouchedFileIsNotVerifiedAgain) {
  Reading reading(0);
  EXPECT_EQ(reading.read(is_sound).value(), "fghi");
  EXPECT_EQ(reading.verifications, 0);
}

TEST(FileChunk, PayloadOfATouchedFileIsVerifiedAgainAndReadAgain) {
  Reading reading(2);
  EXPECT_EQ(reading.read(is_sound).value(), "fghi");
  EXPECT_EQ(reading.verifications, 2);
}

TEST(FileChunk, FailedVerificationIsReturned) {
  Reading reading(1);
  const auto read = reading.read([](const RequestContext&, const Source&) -> Result<void> {
    return Error{Code::kDamage, 7, "changed"};
  });
  EXPECT_EQ(read.error().code, Code::kDamage);
  EXPECT_EQ(read.error().position, 7u);
}

TEST(FileChunk, FileThatKeepsChangingFails) {
  Reading reading(1000);
  const auto read = reading.read(is_sound);
  EXPECT_EQ(read.error().code, Code::kChanged);
  EXPECT_EQ(read.error().position, 1u);
  EXPECT_LT(reading.verifications, 10);
}

TEST(FileChunk, ReadsThatVerifyThemselvesAreNotRepeated) {
  Layout layout;
  layout.add({}, 20);
  const FileChunk chunk(std::make_shared<TouchedSource>(1000), std::move(layout), FileChunk::stored_at(2), 100);
  EXPECT_EQ(as_text(chunk.read({}, 0, 3).value().bytes), "cde");
  EXPECT_EQ(chunk.payload_size(), 20u);
  EXPECT_EQ(chunk.memory(), sizeof(chunk) + 100 + chunk.layout().memory());
}

}  // namespace
}  // namespace recordfs
