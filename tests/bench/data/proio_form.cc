#include "tests/bench/data/form.h"
#include "tests/bench/data/wire.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kMagicSize = 16;

std::uint64_t compression_number(Packing packing) {
  switch (packing) {
    case Packing::kGzip: return 1;
    case Packing::kLz4: return 2;
    default: return 0;
  }
}

// The events are lines, not messages: only inside/ parses them.
class ProioForm final : public BatchWriter {
 public:
  explicit ProioForm(Packing packing) : packing_(packing) {}

 protected:
  void close(const Batch& batch) override {
    std::string payload;
    for (const std::string& record : batch.records()) {
      put_fixed(payload, record.size(), 4);
      payload += record;
    }
    const std::string stored = packed(packing_, payload);
    std::string header;
    put_number(header, 1, batch.records().size());
    put_number(header, 2, stored.size());
    put_number(header, 3, compression_number(packing_));
    bytes_ += "\xe1\xc1" + std::string(kMagicSize - 2, '\0');
    put_fixed(bytes_, header.size(), 4);
    bytes_ += header + stored;
    PackedChunk chunk{};  // the only checks are those of the codecs
    chunk.records = batch.records().size();
    chunk.record_bytes = batch.bytes();
    chunk.add(packing_, stored, payload.size());
    note(std::move(chunk));
  }
  std::string take_bytes() override { return std::exchange(bytes_, {}); }

 private:
  const Packing packing_;
  std::string bytes_;
};

}  // namespace

std::unique_ptr<FormWriter> proio_writer_of(Packing packing) { return std::make_unique<ProioForm>(packing); }

}  // namespace recordfs::bench
