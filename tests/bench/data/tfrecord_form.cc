#include "core/hash/crc32c.h"
#include "tests/bench/data/form.h"
#include "tests/bench/data/wire.h"

namespace recordfs::bench {
namespace {

class TfrecordForm final : public FormWriter {
 public:
  void add(std::string record) override {
    std::string length;
    put_fixed(length, record.size(), 8);
    for (const std::string& part : {length, record}) {
      chunk_.stored += part;
      put_fixed(chunk_.stored, mask_crc(crc32c(as_bytes(part))), 4);
    }
    ++chunk_.records;
    chunk_.record_bytes += record.size();
  }

  std::string take(bool at_end) override {
    if (chunk_.stored.empty() || (chunk_.stored.size() < Batch::kBytes && !at_end)) return {};
    std::string bytes = chunk_.stored;
    chunk_.check = Check::kCrc32c;  // the stored checksums are included
    chunk_.pieces.push_back({Packing::kNone, 0, bytes.size(), bytes.size()});
    note(std::exchange(chunk_, {}));
    return bytes;
  }

 private:
  PackedChunk chunk_;  // records that were not taken yet
};

}  // namespace

std::unique_ptr<FormWriter> tfrecord_writer() { return std::make_unique<TfrecordForm>(); }

}  // namespace recordfs::bench
