#include "tests/unit/formats/proio/streams.h"

#include "core/base/protobuf.h"
#include "core/formats/proio/format.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

void put_u32(std::string& out, std::size_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

void read_bucket(const Container& container, const ChunkInfo& info, Reading& reading) {
  const auto chunk = container.decode({}, info);
  if (!chunk) {
    reading.events.insert(reading.events.end(), info.records.value_or(0), "!" + chunk.error().detail);
    return;
  }
  const Layout& layout = (*chunk)->layout();
  for (std::uint64_t i = 0; i < layout.records(); ++i) {
    if (const Error* failure = layout.failure(i)) {
      reading.events.push_back("!" + failure->detail);
      continue;
    }
    const Extent extent = layout.extent(i);
    const auto slice = (*chunk)->read({}, extent.begin, extent.size);
    reading.events.push_back(slice ? std::string(as_text(slice->bytes)) : "!" + slice.error().detail);
  }
}

}  // namespace

std::string BucketShape::payload_of(const std::vector<std::string>& events) {
  std::string payload;
  for (const std::string& event : events) {
    put_u32(payload, event.size());
    payload += event;
  }
  return payload;
}

std::string number(std::uint32_t field, std::uint64_t value) {
  std::string out;
  protobuf::append_varint(out, field << 3);
  protobuf::append_varint(out, value);
  return out;
}

std::string content(std::uint32_t field, std::string_view bytes) {
  std::string out;
  protobuf::append_field(out, field, bytes);
  return out;
}

std::string tag(std::string_view name, const std::vector<std::uint64_t>& ids) {
  std::string packed;
  for (const std::uint64_t id : ids) protobuf::append_varint(packed, id);
  return content(1, content(1, name) + content(2, content(1, packed)));
}

std::string entry(std::uint64_t id, std::uint64_t type, std::string_view payload) {
  return content(3, number(1, id) + content(2, number(1, type) + content(2, payload)));
}

std::string type(std::uint64_t id, std::string_view name) { return content(5, number(1, id) + content(2, name)); }

std::string magic() { return std::string(as_text(kMagic)); }

std::string bucket(const BucketShape& shape) {
  const std::string payload = shape.payload.empty() ? BucketShape::payload_of(shape.events) : shape.payload;
  const bool counts = shape.stated_events == BucketShape::kRight;
  const bool measures = shape.stated_size == BucketShape::kRight;
  std::string header;
  header += number(header_field::kEvents, counts ? shape.events.size() : shape.stated_events);
  header += number(header_field::kBucketSize, measures ? payload.size() : shape.stated_size);
  if (shape.compression != 0) header += number(header_field::kCompression, shape.compression);
  for (const std::string& file : shape.file_descriptors) {
    protobuf::append_field(header, header_field::kFileDescriptor, file);
  }
  for (const auto& [key, value] : shape.metadata) {
    std::string entry;
    protobuf::append_field(entry, map_field::kKey, key);
    protobuf::append_field(entry, map_field::kValue, value);
    protobuf::append_field(header, header_field::kMetadata, entry);
  }
  header += shape.more_header;
  std::string bytes = magic();
  put_u32(bytes, header.size());
  return bytes + header + payload;
}

std::string file_descriptor(const std::string& name, const std::vector<std::string>& imports) {
  std::string file;
  protobuf::append_field(file, 1, name);
  for (const std::string& import : imports) protobuf::append_field(file, 3, import);
  return file;
}

std::shared_ptr<const Source> source_of(std::string_view bytes) {
  return std::make_shared<MemorySource>(*Buffer::copy_of({}, as_bytes(bytes)));
}

std::unique_ptr<Container> open_bytes(std::string_view bytes, const Limits& limits) {
  auto container = kFormat.open({}, source_of(bytes), limits);
  return container ? std::move(*container) : nullptr;
}

Reading read_all(const Container& container, std::uint64_t size) {
  Reading reading;
  for (std::optional<ChunkKey> key = container.traits().first; key && reading.steps <= size; ++reading.steps) {
    auto step = container.scan({}, *key);
    if (!step) break;
    if (step->chunk) reading.buckets.push_back(*step->chunk);
    if (step->chunk) read_bucket(container, *step->chunk, reading);
    reading.damage.insert(reading.damage.end(), step->damage.begin(), step->damage.end());
    key = step->next;
  }
  return reading;
}

Reading read_bytes(std::string_view bytes, const Limits& limits) {
  const auto container = open_bytes(bytes, limits);
  return container ? read_all(*container, bytes.size()) : Reading{};
}

std::vector<std::string> describe(const Result<std::vector<Attribute>>& attributes) {
  if (!attributes) return {"!" + attributes.error().detail};
  std::vector<std::string> all;
  for (const Attribute& attribute : *attributes) all.push_back(attribute.key + "=" + attribute.value);
  return all;
}

}  // namespace recordfs::proio
