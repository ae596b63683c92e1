#include "tests/bench/data/form.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kFrame = 32768;

class LeveldbForm final : public FormWriter {
 public:
  void add(std::string record) override {
    writer_.append(record);
    ++records_;
    record_bytes_ += record.size();
  }

  std::string take(bool at_end) override {
    std::string bytes = writer_.take_frames();
    if (at_end) bytes += writer_.log();
    if (!bytes.empty()) note_frames(bytes);
    return bytes;
  }

 private:
  // The few bytes of the headers are included in the checksum.
  void note_frames(const std::string& bytes) {
    PackedChunk chunk{.check = Check::kCrc32c, .checked_at_once = kFrame};
    chunk.records = std::exchange(records_, 0);
    chunk.record_bytes = std::exchange(record_bytes_, 0);
    chunk.add(Packing::kNone, bytes, bytes.size());
    note(std::move(chunk));
  }

  leveldb_log::LogWriter writer_;
  std::uint64_t records_ = 0;
  std::uint64_t record_bytes_ = 0;
};

}  // namespace

std::unique_ptr<FormWriter> leveldb_writer() { return std::make_unique<LeveldbForm>(); }

}  // namespace recordfs::bench
