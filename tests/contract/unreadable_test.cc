// Files with bytes that the disk cannot read: they are damage like other damage, and the rest is read.
#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string_view>

#include "core/base/read_window.h"
#include "core/store/scanner.h"
#include "tests/contract/sample_test.h"

namespace recordfs::contract {
namespace {

constexpr std::uint64_t kDiskSector = 512;

// Fails to read the bytes [begin, end), as a disk does: with the place, after the bytes before it.
class BadSector final : public Source {
 public:
  BadSector(std::shared_ptr<const Source> source, Position begin, Position end)
      : source_(std::move(source)), begin_(begin), end_(end) {}

  std::uint64_t size() const override { return source_->size(); }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    const Position end = std::min<Position>(at + out.size(), size());
    if (at < end_ && end > begin_) {
      return Error{.code = Code::kIo, .position = std::max(at, begin_), .detail = "bad sector", .os_error = EIO};
    }
    return source_->read_at(context, at, out);
  }

 private:
  const std::shared_ptr<const Source> source_;
  const Position begin_, end_;
};

// What was read of a file, and what was said of the rest.
struct ReadAround {
  std::vector<std::size_t> hashes;  // of records
  std::vector<DamagedRegion> regions;
  std::vector<Error> failures;

  bool reports_damage() const { return !regions.empty() || !failures.empty(); }
};

void read_chunk(const Container& container, const ChunkInfo& info, ReadAround& found) {
  const auto chunk = container.decode({}, info);
  if (!chunk) return found.failures.push_back(chunk.error());
  const Layout& layout = (*chunk)->layout();
  for (std::uint64_t i = 0; i < layout.records(); ++i) {
    const Extent extent = layout.extent(i);
    if (const Error* const failure = layout.failure(i)) {
      found.failures.push_back(*failure);
    } else if (const auto record = (*chunk)->read({}, extent.begin, extent.size)) {
      found.hashes.push_back(std::hash<std::string_view>()(as_text(record->bytes)));
    } else {
      found.failures.push_back(record.error());
    }
  }
}

// These samples contain records of another file, which the search after damage finds.
constexpr std::array<std::string_view, 3> kWithOtherRecords = {"h15-stream-in-stream.proio",
                                                               "h16-magic-in-metadata.proio", "embedded.tfrecord"};

class UnreadableTest : public SampleTest {
 protected:
  std::vector<std::size_t> hashes_of_sample() const {
    std::vector<std::size_t> hashes;
    for (const Mark& mark : read(bytes()).records) hashes.push_back(mark.hash);
    return hashes;
  }

  // Reads the sample with a bad sector. Returns nullopt if it cannot be opened, which has to say why.
  std::optional<ReadAround> read_around(Position begin, Position end) const {
    const auto source = std::make_shared<const WindowedSource>(
        std::make_shared<BadSector>(source_of(bytes()), begin, end), nullptr, WindowedSource::OnUnreadable::kFind);
    const auto filling = RequestContext().filling_unreadable();
    auto container = open_container(filling, source, sample().file_name, Limits{});
    if (!container) {
      EXPECT_TRUE(source->unreadable_in(0, source->size())) << to_string(container.error());
      return std::nullopt;
    }
    ReadAround found;
    Scanner scanner(**container, source->size(), ScanDetail::kCounts);
    scanner.name_unreadable(*source);
    while (!scanner.at_end()) {
      const auto stepped = scanner.step({});
      EXPECT_TRUE(stepped) << to_string(stepped.error());
      if (!stepped) break;
      for (const DamageRow& row : scanner.damage()) found.regions.push_back(row.region);
      if (scanner.chunk()) read_chunk(**container, scanner.chunk()->chunk, found);
    }
    return found;
  }
};

RECORDFS_FOR_EACH(undamaged_containers(), UnreadableTest);

TEST_P(UnreadableTest, RecordsOutsideOfABadSectorAreReadAndTheLossIsReported) {
  const auto all = hashes_of_sample();
  const std::multiset<std::size_t> known(all.begin(), all.end());
  const bool has_others = std::ranges::find(kWithOtherRecords, sample().file_name) != kWithOtherRecords.end();
  const std::uint64_t sectors = (bytes().size() + kDiskSector - 1) / kDiskSector;
  const std::uint64_t tried = std::min(sectors, rounds(bytes().size() * 16, 6));
  for (std::uint64_t i = 0; i < tried; ++i) {
    const Position begin = (i * sectors / tried) * kDiskSector;
    const auto found = read_around(begin, begin + kDiskSector);
    if (!found) continue;
    for (const std::size_t hash : found->hashes)
      EXPECT_TRUE(has_others || known.contains(hash)) << "a wrong record, sector " << begin;
    EXPECT_TRUE(found->hashes.size() == all.size() || found->reports_damage())
        << all.size() - found->hashes.size() << " records lost without a word, sector " << begin;
    for (const Error& failure : found->failures) EXPECT_TRUE(is_permanent(failure.code)) << to_string(failure);
  }
}

}  // namespace
}  // namespace recordfs::contract
