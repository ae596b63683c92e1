#include "core/formats/leveldb_table/block_builder.h"

#include <algorithm>
#include <utility>

#include "core/base/append.h"
#include "core/base/protobuf.h"

namespace recordfs::leveldb_table {

void BlockBuilder::add(Bytes key, Bytes value) {
  std::size_t shared = 0;
  if (entries_ % interval_ != 0) {
    const auto [in_last, in_key] = std::ranges::mismatch(as_bytes(last_key_), key);
    shared = static_cast<std::size_t>(in_key - key.begin());
  } else if (entries_ > 0) {
    append_le(restarts_, static_cast<std::uint32_t>(content_.size()));
  }
  protobuf::append_varint(content_, shared);
  protobuf::append_varint(content_, key.size() - shared);
  protobuf::append_varint(content_, value.size());
  content_ += as_text(key.subspan(shared));
  content_ += as_text(value);
  last_key_.resize(shared);
  last_key_ += as_text(key.subspan(shared));
  ++entries_;
}

std::string BlockBuilder::take() {
  std::string content = std::exchange(content_, {});
  content += restarts_;
  append_le(content, static_cast<std::uint32_t>(restarts_.size() / sizeof(std::uint32_t)));
  restarts_.resize(sizeof(std::uint32_t));
  last_key_.clear();
  entries_ = 0;
  return content;
}

}  // namespace recordfs::leveldb_table
