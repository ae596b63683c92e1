#include <algorithm>

#include "core/hash/digest.h"
#include "tests/bench/data/form.h"
#include "tests/bench/data/wire.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kHeaderSize = 32;
constexpr char kVersion = 3;
constexpr char kWithOffsets = 1;
constexpr char kAdler32 = 1;
constexpr char kTypeSize = 1;

std::string adler32(std::string_view bytes) {
  Digester digester(DigestId::kAdler32);
  digester.append(as_bytes(bytes));
  return std::string(as_text(digester.finish().view()));
}

// The lines, each with a newline, form one array that is split into chunks of 1 MiB; each chunk is a record. Keeps the
// file in memory until the end, because the offsets are at its beginning.
class BloscpackForm final : public FormWriter {
 public:
  explicit BloscpackForm(const char* codec) : codec_(codec) {}

  void add(std::string record) override {
    (content_ += record) += '\n';
    if (content_.size() >= Batch::kBytes) close(Batch::kBytes);
  }

  std::string take(bool at_end) override {
    if (!at_end) return {};
    const std::size_t last = content_.empty() ? Batch::kBytes : content_.size();
    if (!content_.empty()) close(content_.size());
    std::string file = "blpk";
    for (const char byte : {kVersion, kWithOffsets, kAdler32, kTypeSize}) file.push_back(byte);
    put_fixed(file, Batch::kBytes, 4);
    put_fixed(file, last, 4);
    put_fixed(file, begins_.size(), 8);
    put_fixed(file, 0, 8);
    for (const std::uint64_t begin : begins_) put_fixed(file, kHeaderSize + 8 * begins_.size() + begin, 8);
    return file + chunks_;
  }

 private:
  void close(std::size_t size) {
    const std::string stored = packed_by_blosc(codec_, std::string_view(content_).substr(0, size));
    content_.erase(0, size);
    begins_.push_back(chunks_.size());
    (chunks_ += stored) += adler32(stored);
    PackedChunk chunk{.check = Check::kAdler32};
    chunk.records = 1;
    chunk.record_bytes = size;
    chunk.add(Packing::kBlosc, stored, size);
    note(std::move(chunk));
  }

  const char* const codec_;
  std::string content_;  // of the incomplete chunk
  std::string chunks_;
  std::vector<std::uint64_t> begins_;
};

}  // namespace

std::unique_ptr<FormWriter> bloscpack_writer_of(const char* codec) { return std::make_unique<BloscpackForm>(codec); }

}  // namespace recordfs::bench
