// Holes of sparse files cost nothing to scan, and give the same results as written zeros.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "tests/contract/sample_test.h"

namespace recordfs::contract {
namespace {

constexpr std::uint64_t kPage = 4096;

// The bytes `before`, zeros, and `behind`. Like a filesystem, reports the whole pages inside the zeros as a hole.
class HoleySource final : public Source {
 public:
  enum class Zeros : std::uint8_t { kWritten, kHole };

  HoleySource(std::string_view before, std::uint64_t zeros, std::string_view behind, Zeros kind)
      : before_(before), behind_(behind), begin_of_behind_(before.size() + zeros), kind_(kind) {}

  std::uint64_t size() const override { return begin_of_behind_ + behind_.size(); }

  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    if (at >= size()) return std::size_t{0};
    out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - at)));
    read_ += out.size();
    if (read_ > most_) return Error{Code::kIo, at, "read more bytes than a hole allows"};
    std::ranges::fill(out, std::byte{0});
    put(before_, 0, at, out);
    put(behind_, begin_of_behind_, at, out);
    return out.size();
  }

  Result<Position> next_data(const RequestContext&, Position at) const override {
    const Position begin = (before_.size() + kPage - 1) / kPage * kPage;
    const Position end = behind_.empty() ? size() : begin_of_behind_ / kPage * kPage;
    return kind_ == Zeros::kHole && at >= begin && at < end ? end : std::min(at, size());
  }

  // Makes reads fail after this many more bytes.
  void allow(std::uint64_t bytes) { most_ = read_ + bytes; }

 private:
  static void put(std::string_view piece, Position begin, Position at, MutableBytes out) {
    const Position from = std::max(at, begin);
    const Position to = std::min(at + out.size(), begin + piece.size());
    if (from >= to) return;
    const auto bytes =
        as_bytes(piece).subspan(static_cast<std::size_t>(from - begin), static_cast<std::size_t>(to - from));
    copy_bytes(bytes, out.subspan(static_cast<std::size_t>(from - at)));
  }

  const std::string_view before_, behind_;
  const Position begin_of_behind_;
  const Zeros kind_;
  std::uint64_t most_ = UINT64_MAX;
  mutable std::atomic<std::uint64_t> read_{0};
};

// Merges adjacent regions of different steps that have the same class and reason.
std::vector<DamagedRegion> rows_of(const Walk& walk) {
  std::vector<DamagedRegion> rows;
  for (DamagedRegion& region : walk.damage()) {
    DamagedRegion* const last = rows.empty() ? nullptr : &rows.back();
    if (last != nullptr && last->end == region.begin && last->damage_class == region.damage_class &&
        last->reason == region.reason) {
      last->end = region.end;
      if (last->records_lost && region.records_lost) {
        *last->records_lost += *region.records_lost;
      } else {
        last->records_lost.reset();
      }
    } else {
      rows.push_back(std::move(region));
    }
  }
  return rows;
}

class HolesTest : public SampleTest {
 protected:
  // Reads a file of these bytes; returns nullopt if it is refused.
  std::optional<Reading> reading(std::string_view before, std::uint64_t zeros, std::string_view behind,
                                 HoleySource::Zeros kind) const {
    const auto source = std::make_shared<HoleySource>(before, zeros, behind, kind);
    auto container = sample().format->open({}, source, Limits{});
    if (!container) return std::nullopt;
    return read_all(**container, source->size());
  }

  void expect_same(std::string_view before, std::uint64_t zeros, std::string_view behind) const {
    const auto written = reading(before, zeros, behind, HoleySource::Zeros::kWritten);
    const auto sparse = reading(before, zeros, behind, HoleySource::Zeros::kHole);
    ASSERT_EQ(written.has_value(), sparse.has_value());
    if (!written) return;
    EXPECT_EQ(sparse->walk.errors.size(), 0u);
    EXPECT_FALSE(sparse->walk.endless);
    EXPECT_EQ(written->records, sparse->records);
    EXPECT_EQ(written->refused.size(), sparse->refused.size());
    EXPECT_EQ(written->failures.size(), sparse->failures.size());
    const auto chunks = std::pair(written->walk.chunks(), sparse->walk.chunks());
    EXPECT_TRUE(std::ranges::equal(chunks.first, chunks.second, same_chunk));
    const auto rows = std::pair(rows_of(written->walk), rows_of(sparse->walk));
    ASSERT_EQ(rows.first.size(), rows.second.size());
    for (std::size_t i = 0; i < rows.first.size(); ++i) {
      EXPECT_TRUE(same_region(rows.first[i], rows.second[i]))
          << to_string(rows.first[i]) << " and " << to_string(rows.second[i]);
    }
  }
};

// Returns the `count` smallest samples (1 if RECORDFS_THOROUGH=0) of each folder and file name extension. A few are
// enough: what matters is how a format searches, and each sample scans through the zeros.
std::vector<Sample> some_of_each_kind(std::vector<Sample> samples, std::size_t count) {
  const char* const thorough = std::getenv("RECORDFS_THOROUGH");
  if (thorough != nullptr && std::string_view(thorough) == "0") count = 1;
  std::ranges::stable_sort(samples, {}, [](const Sample& one) { return one.bytes()->size(); });
  std::map<std::string, std::size_t> seen;
  std::erase_if(samples, [&](const Sample& one) {
    const std::filesystem::path path(one.file_name);
    const std::string kind = std::string(one.format->name) + path.parent_path().string() + path.extension().string();
    return ++seen[kind] > count;
  });
  return samples;
}

RECORDFS_FOR_EACH(some_of_each_kind(undamaged_containers(), 1), HolesTest);

class LargeHolesTest : public SampleTest {};
RECORDFS_FOR_EACH(some_of_each_kind(undamaged_containers(), 4), LargeHolesTest);

// More than the largest window of one search step, and not aligned to pages at either end.
constexpr std::uint64_t kZeros = (5 << 18) + 12345;

TEST_P(HolesTest, HoleAfterTheFileReadsLikeWrittenZeros) { expect_same(bytes(), kZeros, ""); }

TEST_P(HolesTest, HoleInsideTheFileReadsLikeWrittenZeros) {
  const std::size_t half = bytes().size() / 2;
  expect_same(bytes().substr(0, half), kZeros, bytes().substr(half));
}

TEST_P(HolesTest, HoleBetweenTwoFilesReadsLikeWrittenZeros) { expect_same(bytes(), kZeros, bytes()); }

TEST_P(LargeHolesTest, TebibyteHoleIsSkippedInOneStep) {
  constexpr std::uint64_t kTebibyte = std::uint64_t{1} << 40;
  constexpr std::uint64_t kMostRead = 64 << 20;
  constexpr std::uint64_t kMostSteps = 10000;
  Limits limits;
  limits.stored_chunk = 4 << 20;
  for (const std::string_view behind : {std::string_view(), bytes()}) {
    const auto source = std::make_shared<HoleySource>(bytes(), kTebibyte, behind, HoleySource::Zeros::kHole);
    auto container = sample().format->open({}, source, limits);
    if (!container) continue;
    source->allow(kMostRead + 20 * bytes().size());
    const Walk all = walk(**container, kMostSteps);
    EXPECT_FALSE(all.endless);
    EXPECT_EQ(all.errors.size(), 0u) << to_string(all.errors.front());
  }
}

}  // namespace
}  // namespace recordfs::contract
