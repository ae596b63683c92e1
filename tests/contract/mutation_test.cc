#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "tests/contract/sample_test.h"

namespace recordfs::contract {
namespace {

constexpr std::uint64_t kCostOfAChange = 2;  // formats search after damage, which takes longer than to read

std::uint64_t cost_of(const Reading& reading, std::uint64_t size) {
  for (const Mark& mark : reading.records) size += mark.size;
  return kCostOfAChange * (size + 20 * reading.records.size());
}

bool is_prefix(const std::vector<Mark>& part, const std::vector<Mark>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

class PrefixTest : public SampleTest {
 protected:
  // Returns the number of records in chunks that end within the first `size` bytes.
  static std::size_t records_within(const Reading& whole, std::uint64_t size) {
    if (!whole.walk.in_file_order) return 0;
    std::size_t records = 0;
    Position last = 0;
    for (const ChunkInfo& chunk : whole.walk.chunks()) {
      if (chunk.end <= size) last = chunk.begin;
    }
    while (records < whole.records.size() && whole.records[records].chunk_begin <= last) ++records;
    return last == 0 && !whole.walk.chunks().empty() && whole.walk.chunks()[0].end > size ? 0 : records;
  }
};

class FlipTest : public SampleTest {
 protected:
  static bool is_verified(const Container& container, const ChunkInfo& chunk) {
    if (const auto verified = container.verify({}, chunk)) return *verified == Verification::kVerified;
    const auto decoded = container.decode({}, chunk);  // of a damaged chunk, some records may be readable
    return !decoded || (*decoded)->layout().has_checksum();
  }

  // Whether a checksum would detect a change of byte `at`.
  static bool is_covered(const Container& container, const Reading& whole, Position at) {
    for (const ChunkInfo& chunk : whole.walk.chunks()) {
      const bool in_payload = at < chunk.end && at >= chunk.end - chunk.stored_size;
      if (in_payload) return is_verified(container, chunk);
    }
    return container.traits().headers_have_checksums;
  }

  static std::size_t failures_of(const Reading& reading) {
    return reading.walk.damage().size() + reading.refused.size() + reading.failures.size();
  }

  // Whether the change makes something readable again in a damaged sample.
  static bool undoes_damage(const Reading& whole, const Reading& reading) {
    return failures_of(reading) < failures_of(whole);
  }

  // Whether damage is reported, and records are in another order or one appears twice (GUARANTEES.md, "duplicate").
  static bool moves_records(const Reading& whole, const Reading& reading) {
    const auto is_known = [&](const Mark& mark) {
      return std::ranges::any_of(whole.records, [&](const Mark& known) { return known.same_bytes(mark); });
    };
    return reading.reports_damage() && std::ranges::all_of(reading.records, is_known);
  }

  Violations check_flip(const Reading& whole, bool covered, std::string& changed, Position at, char with) const {
    Violations broken;
    changed[at] = static_cast<char>(changed[at] ^ with);
    const Reading reading = read(changed);
    changed[at] = static_cast<char>(changed[at] ^ with);
    const std::string where = fmt::format("byte {} xor {:#04x}", at, static_cast<unsigned char>(with));
    for (const std::string& rule : check_walk(reading.walk, bytes().size())) broken.push_back(where + ": " + rule);
    if (!covered) return broken;
    if (!sample().want.unchecked && !is_subsequence(reading.records, whole.records) && !undoes_damage(whole, reading) &&
        !moves_records(whole, reading)) {
      broken.push_back(where + ": records that are not in the file");
    }
    if (reading.records.size() < whole.records.size() && !reading.reports_damage()) {
      broken.push_back(fmt::format("{}: {} of {} records, but no damage is reported", where, reading.records.size(),
                                   whole.records.size()));
    }
    return broken;
  }
};

RECORDFS_FOR_EACH(undamaged_containers(), PrefixTest);
RECORDFS_FOR_EACH(containers(), FlipTest);

TEST_P(PrefixTest, PrefixYieldsAPrefixOfTheRecords) {
  const Reading whole = read(bytes());
  const std::uint64_t count = rounds(cost_of(whole, bytes().size()), 12);
  for (const Position size : places(whole.walk, std::min<std::uint64_t>(count, bytes().size()))) {
    const Reading part = read(bytes().substr(0, size));
    const bool in_order = whole.walk.in_file_order;
    EXPECT_TRUE(in_order ? is_prefix(part.records, whole.records) : is_subsequence(part.records, whole.records))
        << "truncated to " << size << " bytes";
    const std::size_t least = sample().want.end_tells ? 0 : records_within(whole, size);
    EXPECT_GE(part.records.size(), least) << "truncated to " << size << " bytes";
    EXPECT_EQ(joined(check_walk(part.walk, size)), "") << "truncated to " << size << " bytes";
  }
}

// Unless no checksum covers the byte: then only the scan has to succeed.
TEST_P(FlipTest, FlippedByteYieldsCorrectBytesOrReportedDamage) {
  const auto container = open_sample();
  const Reading whole = read(bytes());
  const std::uint64_t count = rounds(cost_of(whole, bytes().size()), 12);
  std::string changed(bytes());
  std::mt19937_64 random(4);
  Violations broken;
  for (const Position at : places(whole.walk, std::min<std::uint64_t>(count, bytes().size()))) {
    const auto with = static_cast<char>(random() % 2 == 0 ? 1u << random() % 8 : 1 + random() % 255);
    const bool covered = !container || is_covered(*container, whole, at);
    std::ranges::move(check_flip(whole, covered, changed, at, with), std::back_inserter(broken));
  }
  EXPECT_EQ(joined(broken), "");
}

}  // namespace
}  // namespace recordfs::contract
