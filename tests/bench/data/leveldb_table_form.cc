#include <algorithm>

#include <fmt/format.h>

#include "core/hash/crc32c.h"
#include "tests/bench/data/form.h"
#include "tests/bench/data/wire.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kTableBlock = 4096;  // LevelDB's default
constexpr std::size_t kPlacesSize = 40;
constexpr std::uint64_t kTableMagic = 0xDB4775248B80FB57;
constexpr std::uint64_t kPut = 1;

// The content of a block.
class Block {
 public:
  explicit Block(std::size_t restart_interval) : restart_interval_(restart_interval) {}

  void add(std::string_view key, std::string_view value) {
    std::size_t shared = 0;
    if (entries_++ % restart_interval_ == 0) {
      restarts_.push_back(bytes_.size());
    } else {
      shared = static_cast<std::size_t>(std::ranges::mismatch(key_, key).in1 - key_.begin());
    }
    for (const std::size_t number : {shared, key.size() - shared, value.size()}) put_varint(bytes_, number);
    (bytes_ += key.substr(shared)) += value;
    key_ = key;
  }
  std::size_t size() const { return bytes_.size(); }
  const std::string& last_key() const { return key_; }

  std::string finish() {
    if (restarts_.empty()) restarts_.push_back(0);
    for (const std::size_t restart : restarts_) put_fixed(bytes_, restart, 4);
    put_fixed(bytes_, restarts_.size(), 4);
    return std::move(bytes_);
  }

 private:
  std::size_t restart_interval_;
  std::size_t entries_ = 0;
  std::string bytes_;
  std::string key_;  // the last one
  std::vector<std::size_t> restarts_;
};

Block data_block() { return Block(16); }

// The keys are the records' numbers, as a database stores them.
class LeveldbTableForm final : public FormWriter {
 public:
  explicit LeveldbTableForm(Packing packing) : packing_(packing) {}

  void add(std::string record) override {
    std::string key = fmt::format("{:016}", records_++);
    put_fixed(key, records_ << 8 | kPut, 8);
    block_.add(key, record);
    ++block_records_;
    if (block_.size() >= kTableBlock) close();
  }

  std::string take(bool at_end) override {
    if (!at_end) return std::exchange(bytes_, {});
    if (block_.size() > 0) close();
    std::string footer = put_block(Block(1), Packing::kNone);  // the meta index
    footer += put_block(std::move(index_), packing_);
    footer.resize(kPlacesSize);
    put_fixed(footer, kTableMagic, 8);
    return std::exchange(bytes_, {}) + footer;
  }

 private:
  void close() {
    const std::string key = block_.last_key();
    index_.add(key, put_block(std::exchange(block_, data_block()), packing_));
    block_records_ = 0;
  }

  // Appends a block with its trailer and returns its place.
  std::string put_block(Block block, Packing packing) {
    const std::string content = block.finish();
    std::string stored = packed(packing, content);
    std::string place;
    put_varint(place, at_);
    put_varint(place, stored.size());
    PackedChunk chunk{.check = Check::kCrc32c};
    chunk.records = block_records_;
    chunk.record_bytes = content.size();
    chunk.add(packing, stored, content.size());
    note(std::move(chunk));
    stored += packing == Packing::kSnappy ? '\1' : packing == Packing::kZstd ? '\2' : '\0';
    put_fixed(stored, mask_crc(crc32c(as_bytes(stored))), 4);
    at_ += stored.size();
    bytes_ += stored;
    return place;
  }

  const Packing packing_;
  Block block_ = data_block();
  Block index_ = Block(1);
  std::string bytes_;  // that were not taken yet
  std::uint64_t at_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t block_records_ = 0;
};

}  // namespace

std::unique_ptr<FormWriter> leveldb_table_writer_of(Packing packing) {
  return std::make_unique<LeveldbTableForm>(packing);
}

}  // namespace recordfs::bench
