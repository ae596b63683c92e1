#include "core/formats/resync.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/support/counting_source.h"

namespace recordfs {
namespace {

using Kind = ResyncResult::Kind;
using testing::CountingSource;

constexpr std::uint64_t kWindow = 64;
constexpr std::string_view kMagic = "MAGIC";

// Candidates begin with kMagic and are valid if an exclamation mark follows.
struct Searching {
  explicit Searching(const Source& source, std::uint64_t budget = UINT64_MAX)
      : windows(source, kWindow),
        rules{kMagic.size() + 1, [](Bytes window) { return as_text(window).find(kMagic); },
              [this](Position at, Bytes bytes) -> Result<Position> {
                ++tested;
                return as_text(bytes)[kMagic.size()] == '!' ? at : at + skipped;
              },
              [this, budget](Position) { return windows.bytes_read() >= budget; }} {}
  ResyncResult from(Position at) { return resync({}, windows, at, rules).value(); }

  WindowedReader windows;
  int tested = 0;
  Position skipped = 1;  // after an invalid candidate
  ResyncRules rules;
};

std::string file_with(Position at, std::string_view text, std::size_t size = 1000) {
  std::string bytes(size, '.');
  return bytes.replace(at, text.size(), text);
}

TEST(Resync, ValidCandidateIsFoundWhereverWindowsEnd) {
  for (Position at = 0; at < 2 * kWindow; ++at) {
    const CountingSource source(file_with(at, "MAGIC!"));
    EXPECT_EQ(Searching(source).from(0).kind, Kind::kFound);
    EXPECT_EQ(Searching(source).from(0).at, at);
    EXPECT_EQ(Searching(source).from(at).at, at);
    EXPECT_EQ(Searching(source).from(at + 1).kind, Kind::kNothing);
  }
}

TEST(Resync, InvalidCandidatesArePassed) {
  const CountingSource source(file_with(20, "MAGIC? MAGIC? MAGIC!"));
  Searching one(source);
  EXPECT_EQ(one.from(0).at, 34u);
  EXPECT_EQ(one.tested, 3);
  Searching several(source);
  several.skipped = 9;
  EXPECT_EQ(several.from(0).at, 34u);
  EXPECT_EQ(several.tested, 2);
}

TEST(Resync, SearchWithoutResultEndsWithTheSource) {
  for (const std::string& file : {file_with(997, "MAG"), file_with(995, "MAGIC"), std::string(), std::string("MAGI")}) {
    const CountingSource source(file);
    const ResyncResult result = Searching(source).from(0);
    EXPECT_EQ(result.kind, Kind::kNothing);
    EXPECT_EQ(result.at, file.size());
  }
}

TEST(Resync, SearchIsInterruptedAndContinues) {
  const CountingSource source(file_with(900, "MAGIC!"));
  Position at = 0;
  ResyncResult result;
  for (int i = 0; i < 100 && result.kind != Kind::kFound; ++i) {
    result = Searching(source, 1).from(at);
    ASSERT_NE(result.kind, Kind::kNothing);
    ASSERT_GT(result.at, at);
    at = result.at;
  }
  EXPECT_EQ(at, 900u);
}

// A file with a hole in [200, 900).
class SourceWithHole final : public Source {
 public:
  explicit SourceWithHole(const Source& below) : below_(below) {}
  std::uint64_t size() const override { return below_.size(); }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    return below_.read_at(context, at, out);
  }
  Result<Position> next_data(const RequestContext&, Position at) const override {
    return at < 200 || at > 900 ? at : 900;
  }

 private:
  const Source& below_;
};

TEST(Resync, HolesAreSkipped) {
  std::string bytes = file_with(950, "MAGIC!");
  bytes.replace(200, 700, std::string(700, '\0'));
  const CountingSource below(bytes);
  const SourceWithHole source(below);
  EXPECT_EQ(Searching(source).from(150).at, 950u);
  EXPECT_LT(below.take_read_bytes(), 5 * kWindow);
}

}  // namespace
}  // namespace recordfs
