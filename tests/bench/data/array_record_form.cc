#include "tests/bench/data/form.h"
#include "tests/bench/data/riegeli_data.h"
#include "tests/bench/data/wire.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs::bench {
namespace {

constexpr std::uint64_t kRiegeliBlock = 1u << 16;
constexpr std::uint64_t kRiegeliChunkHeader = 40;
constexpr std::uint64_t kPostscriptMagic = 0x71930E704FDAE05E;
constexpr std::string_view kOptions = "transpose:false,pad_to_block_boundary:false,max_parallelism:1";

// See core/formats/array_record/FORMAT.md for the footer and the postscript.
class ArrayRecordForm final : public BatchWriter {
 public:
  explicit ArrayRecordForm(Packing packing) : packing_(packing) {}

 protected:
  void close(const Batch& batch) override {
    PackedChunk chunk = simple_chunk(batch, packing_);
    std::string& entry = footer_.emplace_back();
    put_number(entry, 1, write_chunk(writer_, 'r', chunk));
    put_number(entry, 2, chunk.record_bytes);
    put_number(entry, 3, chunk.records);
    records_ += chunk.records;
    note(std::move(chunk));
  }

  void finish() override {
    std::string metadata;
    put_number(metadata, 1, 1);  // the version
    put_number(metadata, 2, footer_.size() - 1);
    put_number(metadata, 3, records_);
    put_bytes(metadata, 4, kOptions);
    put_bytes(footer_.front(), 1, metadata);
    std::string postscript;
    put_number(postscript, 1, writer_.add(riegeli_writer::simple_chunk(footer_)));
    put_number(postscript, 2, kPostscriptMagic);
    pad();
    writer_.add(riegeli_writer::simple_chunk({postscript, postscript, postscript}));
    pad();
  }

  std::string take_bytes() override { return writer_.take(); }

 private:
  // Pads to the next block.
  void pad() {
    const std::uint64_t room = kRiegeliBlock - writer_.size() % kRiegeliBlock;
    if (room < kRiegeliBlock) writer_.pad_to(writer_.size() + room + (room < kRiegeliChunkHeader ? kRiegeliBlock : 0));
  }

  const Packing packing_;
  riegeli_writer::Writer writer_;
  std::vector<std::string> footer_ = {{}};  // its records; the first is empty until finish()
  std::uint64_t records_ = 0;
};

}  // namespace

std::unique_ptr<FormWriter> array_record_writer_of(Packing packing) {
  return std::make_unique<ArrayRecordForm>(packing);
}

}  // namespace recordfs::bench
