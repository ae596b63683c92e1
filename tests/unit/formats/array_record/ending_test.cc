#include "core/formats/array_record/ending.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tests/writers/riegeli/writer.h"

namespace recordfs::array_record {
namespace {

// A file of 1 TiB that is a hole except for its beginning.
class SparseSource final : public Source {
 public:
  explicit SparseSource(std::string head) : head_(std::move(head)) {}
  std::uint64_t size() const override { return std::uint64_t{1} << 40; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    ++reads_;
    out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - std::min(at, size()))));
    std::ranges::fill(out, std::byte{0});
    if (at < head_.size()) {
      copy_bytes(as_bytes(head_).subspan(static_cast<std::size_t>(at), std::min(out.size(), head_.size() - at)), out);
    }
    return out.size();
  }
  int reads() const { return reads_; }

 private:
  const std::string head_;
  mutable int reads_ = 0;
};

TEST(Ending, SearchSkipsALargeHole) {
  riegeli_writer::Writer writer;
  writer.add(riegeli_writer::simple_chunk({"record"}));
  const SparseSource source(writer.file());
  const auto ending = find_ending({}, source, Limits{}, EndingDetail::kIndex);
  ASSERT_TRUE(ending);
  EXPECT_FALSE(*ending);
  EXPECT_LT(source.reads(), 10000);
}

// Returns a file whose postscript names its last chunk, which has `records` records and is no footer.
std::string with_named_chunk(std::size_t records) {
  constexpr std::uint64_t kBlock = 65536;
  riegeli_writer::Writer writer;
  writer.add(riegeli_writer::simple_chunk({"record"}));
  const auto named =
      writer.add(riegeli_writer::simple_chunk(std::vector<std::string>(records, "no entry of a footer")));
  writer.pad_to((writer.size() + 100 + kBlock - 1) / kBlock * kBlock);
  const std::string message = "\x08" + riegeli_writer::varint(named) + "\x10\xde\xc0\xeb\xfe\x84\xce\xc3\xc9\x71";
  writer.add(riegeli_writer::simple_chunk({message, message, message}));
  return writer.file();
}

TEST(Ending, ChunkThatIsNoFooterCountsAsDamagedOneIfItIsLarge) {
  for (const std::size_t records : {3u, 30'000u}) {
    const MemorySource source(Buffer::copy_of({}, as_bytes(with_named_chunk(records))).value());
    const bool is_large = records > 3;
    for (const auto detail : {EndingDetail::kPresence, EndingDetail::kIndex}) {
      const auto ending = find_ending({}, source, Limits{}, detail);
      ASSERT_TRUE(ending);
      ASSERT_EQ(ending->has_value(), is_large);
      if (!is_large || detail == EndingDetail::kPresence) continue;
      EXPECT_EQ((*ending)->flaw->detail, "the chunk is not a footer");
    }
  }
}

}  // namespace
}  // namespace recordfs::array_record
