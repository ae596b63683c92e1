#include "tests/bench/data/form.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::bench {
namespace {

std::vector<std::string> transformers(Packing packing) {
  if (packing == Packing::kNone) return {};
  return {packing == Packing::kZstd ? "zstd" : "flate"};
}

class RecordioForm final : public BatchWriter {
 public:
  explicit RecordioForm(Packing packing)
      : packing_(packing), bytes_(recordio_writer::header_with(transformers(packing))) {}

 protected:
  void close(const Batch& batch) override {
    const std::string content = recordio_writer::content_of(batch.records());
    const std::string stored = packed(packing_, content);
    bytes_ += recordio_writer::block(recordio_writer::Magic::kBody, stored);
    PackedChunk chunk{.check = Check::kCrc32, .checked_at_once = recordio_writer::kLargestPayload};
    chunk.records = batch.records().size();
    chunk.record_bytes = batch.bytes();
    chunk.add(packing_, stored, content.size());
    note(std::move(chunk));
  }
  std::string take_bytes() override { return std::exchange(bytes_, {}); }

 private:
  const Packing packing_;
  std::string bytes_;
};

}  // namespace

std::unique_ptr<FormWriter> recordio_writer_of(Packing packing) { return std::make_unique<RecordioForm>(packing); }

}  // namespace recordfs::bench
