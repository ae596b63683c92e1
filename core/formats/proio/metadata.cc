#include "core/formats/proio/metadata.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/protobuf.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::size_t kMostKeptFolds = 8;
constexpr std::size_t kMostMarks = 1024;
constexpr std::uint64_t kCostOfAKey = 128;  // bytes of memory in addition to the key and the value

// Field numbers of FileDescriptorProto, and of FileDescriptorSet.
constexpr std::uint32_t kFileName = 1;
constexpr std::uint32_t kDependency = 3;
constexpr std::uint32_t kFile = 1;

struct MapEntry {
  std::string key;
  std::string value;
};

// Parses an entry of map<string, bytes>; returns nullopt if it is invalid.
std::optional<MapEntry> parse_map_entry(Bytes message, std::uint32_t depth_limit) {
  MapEntry entry;
  MessageReader reader(message, depth_limit);
  while (reader.next()) {
    if (reader.field().is(map_field::kKey, WireType::kLengthDelimited)) entry.key = as_text(reader.content());
    if (reader.field().is(map_field::kValue, WireType::kLengthDelimited)) entry.value = as_text(reader.content());
  }
  if (!reader.finish()) return std::nullopt;
  return entry;
}

// Returns the file name in a descriptor, as far as it can be read.
std::string_view name_in(Bytes descriptor, std::uint32_t depth_limit) {
  std::string_view name;
  MessageReader reader(descriptor, depth_limit);
  while (reader.next()) {
    if (reader.field().is(kFileName, WireType::kLengthDelimited)) name = as_text(reader.content());
  }
  return name;
}

// A descriptor and the position in its imports. The imports are not stored, because their number is bounded only by the
// size of the descriptor.
class OpenFile {
 public:
  OpenFile(const std::string& descriptor, std::uint32_t depth_limit)
      : descriptor_(descriptor), reader_(as_bytes(descriptor), depth_limit) {}

  std::string_view descriptor() const { return descriptor_; }
  // Returns the next imported file, or nullopt after the last.
  std::optional<std::string_view> next_import() {
    while (reader_.next()) {
      if (reader_.field().is(kDependency, WireType::kLengthDelimited)) return as_text(reader_.content());
    }
    return std::nullopt;
  }

 private:
  std::string_view descriptor_;
  MessageReader reader_;
};

constexpr std::size_t kMostKeptSets = 8;

}  // namespace

Result<void> Fold::set(Values& values, std::string key, std::string value, const Limits& limits) {
  const auto old = values.find(key);
  if (old != values.end() && *old->second == value) return {};
  const std::uint64_t replaced = old == values.end() ? 0 : old->second->size();
  const std::uint64_t added = value.size() + (old == values.end() ? key.size() + kCostOfAKey : 0);
  if (size_ - replaced + added > limits.metadata_bytes) {
    return Error{.code = Code::kLimit,
                 .detail = fmt::format("the stream's metadata exceeds {} bytes", limits.metadata_bytes)};
  }
  size_ += added - replaced;
  values.insert_or_assign(std::move(key), std::make_shared<const std::string>(std::move(value)));
  return {};
}

Result<void> Fold::add(const RequestContext& context, const Source& source, const HeaderItem& item,
                       const Limits& limits) {
  if (item.size > limits.metadata_bytes) {
    return Error{Code::kLimit, item.begin,
                 fmt::format("{} bytes of metadata in one value exceed the limit", item.size)};
  }
  ASSIGN_OR_RETURN(const auto content, read_exactly(context, source, item.begin, item.size));
  if (item.field == header_field::kFileDescriptor) {
    std::string name(name_in(content.view(), limits.nesting_depth));
    return set(descriptors_, std::move(name), std::string(as_text(content.view())), limits);
  }
  auto entry = parse_map_entry(content.view(), limits.nesting_depth);
  if (!entry) return {};  // the scan reports a region for it
  return set(metadata_, std::move(entry->key), std::move(entry->value), limits);
}

// Keys are never shared, and no two keys share a value.
std::uint64_t Fold::unshared(const Values& values, const Values& others) {
  std::uint64_t size = 0;
  auto other = others.begin();
  for (const auto& [key, value] : values) {
    while (other != others.end() && other->first < key) ++other;
    const bool is_shared = other != others.end() && other->second == value;
    size += key.size() + kCostOfAKey + (is_shared ? 0 : value->size());
  }
  return size;
}

std::uint64_t Fold::unshared_with(const Fold& other) const {
  if (this == &other) return 0;
  return unshared(metadata_, other.metadata_) + unshared(descriptors_, other.descriptors_);
}

bool Fold::shares_descriptors_with(const Fold& other) const {
  return std::ranges::equal(descriptors_, other.descriptors_, [](const auto& ours, const auto& theirs) {
    return ours.first == theirs.first && (ours.second == theirs.second || *ours.second == *theirs.second);
  });
}

std::vector<Attribute> Fold::metadata() const {
  std::vector<Attribute> attributes;
  for (const auto& [key, value] : metadata_) attributes.push_back({key, "", *value});
  return attributes;
}

ShortAttributes Fold::short_metadata(std::uint64_t most_bytes) const {
  ShortAttributes attributes(most_bytes);
  for (const auto& [key, value] : metadata_) attributes.add({.key = key, .value = *value});
  return attributes;
}

std::string Fold::file_descriptor_set(const Limits& limits) const {
  std::string set;
  std::set<std::string_view> begun;
  std::vector<OpenFile> open;
  const auto begin = [&](std::string_view name) {
    const auto found = descriptors_.find(name);
    if (found == descriptors_.end() || !begun.insert(found->first).second) return;
    open.emplace_back(*found->second, limits.nesting_depth);
  };
  for (const auto& [name, descriptor] : descriptors_) {
    begin(name);
    while (!open.empty()) {
      if (const auto import = open.back().next_import()) {
        begin(*import);
      } else {
        protobuf::append_field(set, kFile, open.back().descriptor());
        open.pop_back();
      }
    }
  }
  return set;
}

FoldWalk::Kept FoldWalk::nearest(Position position) const {
  const std::lock_guard lock(mutex_);
  auto best = kept_.end();
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    const bool is_nearer = best == kept_.end() || kept->key.position > best->key.position;
    if (kept->key.position <= position && is_nearer) best = kept;
  }
  const auto after = std::ranges::upper_bound(marks_, position, {}, [](const Kept& mark) { return mark.key.position; });
  const bool is_marked = after != marks_.begin();
  if (best == kept_.end()) return is_marked ? *(after - 1) : Kept{{}, std::make_shared<const Fold>()};
  if (is_marked && (after - 1)->key.position > best->key.position) return *(after - 1);
  std::rotate(best, best + 1, kept_.end());
  return kept_.back();
}

bool FoldWalk::mark(const Kept& place) const {
  const std::lock_guard lock(mutex_);
  if (place.steps < stride_) return false;
  if (!marks_.empty() && marks_.back().key.position >= place.key.position) return false;
  append_mark(place);
  while (marks_.size() > 1 && (marks_.size() > kMostMarks || marks_cost_ > limits_.metadata_bytes)) thin_marks();
  return true;
}

void FoldWalk::append_mark(const Kept& place) const {
  marks_cost_ += marks_.empty() ? place.fold->size() : place.fold->unshared_with(*marks_.back().fold);
  marks_.push_back({place.key, place.fold});
}

void FoldWalk::thin_marks() const {
  const std::vector<Kept> all = std::exchange(marks_, {});
  marks_cost_ = 0;
  for (std::size_t i = (all.size() - 1) % 2; i < all.size(); i += 2) append_mark(all[i]);
  stride_ *= 2;
}

void FoldWalk::keep(Kept kept) const {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const Kept& other) { return other.key == kept.key; });
  kept_.push_back(std::move(kept));
  std::uint64_t size = 0;
  for (const Kept& each : kept_) size += each.fold->size();
  while (kept_.size() > 1 && (kept_.size() > kMostKeptFolds || size > limits_.metadata_bytes)) {
    size -= kept_.front().fold->size();
    kept_.erase(kept_.begin());
  }
}

Result<void> FoldWalk::add_header(const RequestContext& context, const ChunkInfo& bucket, Fold& fold) const {
  WindowedReader window(source_, kHeaderWindow);
  const auto add = [&](const HeaderItem& item) { return fold.add(context, source_, item, limits_); };
  TRY(read_header(context, window, bucket.begin, limits_, add));
  return {};
}

Result<std::shared_ptr<const Fold>> FoldWalk::at(const RequestContext& context, const ChunkInfo& bucket) const {
  Kept place = nearest(bucket.begin);
  std::shared_ptr<Fold> own;  // place.fold, while no other object shares it
  for (std::optional<ChunkKey> key = place.key; key && key->position <= bucket.begin; ++place.steps) {
    place.key = *key;
    if (mark(place)) {
      own.reset();
      place.steps = 0;
    }
    ASSIGN_OR_RETURN(const auto step, framing_.scan(context, *key));
    if (step.chunk && has_attributes(*step.chunk)) {
      if (!own) place.fold = own = std::make_shared<Fold>(*place.fold);
      // The fold may already include the first header; adding it twice is harmless.
      TRY(add_header(context, *step.chunk, *own));
    }
    if (step.chunk && step.chunk->begin == bucket.begin) {
      keep(place);
      return place.fold;
    }
    key = step.next;
  }
  return Error{Code::kChanged, bucket.begin, "the file's buckets have changed"};
}

// REQUIRES: mutex_ is held.
std::shared_ptr<const std::string> DescriptorSets::find(const Fold& fold) const {
  const auto found =
      std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.fold->shares_descriptors_with(fold); });
  if (found == kept_.end()) return nullptr;
  std::rotate(found, found + 1, kept_.end());
  return kept_.back().set;
}

std::shared_ptr<const std::string> DescriptorSets::of(const std::shared_ptr<const Fold>& fold) const {
  if (!fold->has_descriptors()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (auto known = find(*fold)) return known;
  auto set = std::make_shared<const std::string>(fold->file_descriptor_set(limits_));
  kept_.push_back({fold, set});
  std::uint64_t size = 0;
  for (const Kept& each : kept_) size += each.fold->size() + each.set->size();
  while (kept_.size() > 1 && (kept_.size() > kMostKeptSets || size > limits_.metadata_bytes)) {
    size -= kept_.front().fold->size() + kept_.front().set->size();
    kept_.erase(kept_.begin());
  }
  return set;
}

}  // namespace recordfs::proio
