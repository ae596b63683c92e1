#include "fusefs/tree/key_names.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fusefs/tree/names.h"

namespace recordfs {
namespace {

constexpr std::string_view kHeader = "name\tkey\n";
constexpr std::size_t kRowsOfABlock = 256;  // keys per block

}  // namespace

std::string key_file_name(std::string_view key, std::uint64_t number) {
  return key_name(key, number, {kKeyNamesFile, kKeyFamiliesName});
}

KeyNames::KeyNames(std::shared_ptr<const KeyTable> table, std::uint32_t family)
    : table_(std::move(table)), places_(table_->places(family)) {
  std::uint64_t rows = 0;
  for (std::size_t place = places_.begin; place < places_.end; ++place) {
    if ((place - places_.begin) % kRowsOfABlock == 0) block_begins_.push_back(kHeader.size() + rows);
    rows += row(place).size();
  }
  size_ = rows == 0 ? 0 : kHeader.size() + rows;
}

std::string KeyNames::row(std::size_t place) const {
  const KeyTable::Listed listed = table_->at(place);
  const std::string name = key_file_name(listed.key, listed.number);
  return name == listed.key ? std::string() : fmt::format("{}\t{}\n", name, percent_encoded(listed.key, ""));
}

Result<Slice> KeyNames::read(std::uint64_t offset, std::uint64_t length) const {
  if (offset >= size_) return Slice{};
  const std::uint64_t end = offset + std::min(length, size_ - offset);
  const auto after = std::ranges::upper_bound(block_begins_, std::max<std::uint64_t>(offset, kHeader.size()));
  const auto block = static_cast<std::size_t>(after - block_begins_.begin()) - 1;
  std::string text(offset < kHeader.size() ? kHeader : std::string_view());
  const std::uint64_t begin = block_begins_[block] - text.size();
  for (std::size_t place = places_.begin + block * kRowsOfABlock; begin + text.size() < end; ++place)
    text += row(place);
  const auto wanted =
      std::string_view(text).substr(static_cast<std::size_t>(offset - begin), static_cast<std::size_t>(end - offset));
  ASSIGN_OR_RETURN(auto bytes, Buffer::copy_of(as_bytes(wanted)));
  const auto kept = std::make_shared<const Buffer>(std::move(bytes));
  return Slice{kept->view(), kept};
}

}  // namespace recordfs
