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

}  // namespace
}  // namespace recordfs::array_record
