#include "tests/unit/formats/proio/streams.h"

#include "core/base/protobuf.h"
#include "core/formats/proio/format.h"
#include "core/formats/proio/wire.h"
#include "tests/unit/formats/container_reading.h"

namespace recordfs::proio {
namespace {

void put_u32(std::string& out, std::size_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
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

std::shared_ptr<const Source> source_of(std::string_view bytes) { return testing::memory_source(bytes); }

std::unique_ptr<Container> open_bytes(std::string_view bytes, const Limits& limits) {
  return testing::open_as(kFormat, bytes, limits);
}

Reading read_all(const Container& container, std::uint64_t) {
  testing::ScannedFile file = testing::scan_all(container);
  Reading reading{std::move(file.chunks), std::move(file.damage), {}, file.steps};
  for (const ChunkInfo& info : reading.buckets) {
    for (std::string& event : testing::texts_in(container, info)) reading.events.push_back(std::move(event));
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
