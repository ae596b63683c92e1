#include "tests/contract/samples.h"
#include "tests/contract/stream.h"
#include "tests/toy/toy_format.h"

namespace recordfs::contract {
namespace {

using toy::File;
using toy::Shape;

bool is_readable(const Shape& shape, std::uint64_t ordinal) {
  const std::uint64_t chunk = ordinal / shape.records_per_chunk;
  return !shape.broken_headers.contains(chunk) && !shape.broken_payloads.contains(chunk) &&
         !shape.unsupported.contains(chunk) && !shape.unreadable_records.contains(ordinal);
}

bool is_damaged(const Shape& shape) {
  return !shape.broken_headers.empty() || !shape.broken_payloads.empty() || !shape.unsupported.empty() ||
         !shape.unreadable_records.empty();
}

Sample named(const std::string& name, std::string bytes) {
  Sample sample;
  sample.name = "toy_" + name;
  sample.file_name = name + ".toy";
  sample.format = &toy::kFormat;
  sample.made = std::make_shared<const std::string>(std::move(bytes));
  return sample;
}

Sample make_empty() {
  Sample sample = named("empty_file", "");
  sample.want.right = {StreamDigest().finish()};
  return sample;
}

Sample make_sample(const std::string& name, const Shape& shape) {
  const File file = toy::make_file(shape);
  Sample sample = named(name, file.bytes);
  sample.want.damaged = is_damaged(shape);
  StreamDigest digest;
  for (std::uint64_t i = 0; i < file.records.size(); ++i) {
    const Bytes record = as_bytes(file.records[i]);
    if (is_readable(shape, i)) digest.add(record);
    if (!sample.want.damaged) sample.want.some.push_back({i, record.size(), sha256(record)});
  }
  sample.want.right = {digest.finish()};
  for (std::size_t i = 0; i < file.begins.size() && !sample.want.damaged; ++i) {
    sample.want.chunks.push_back({file.begins[i], file.ends[i]});
  }
  return sample;
}

// A valid file of which the last chunk is truncated to three bytes.
Sample make_cut(const std::string& name, const Shape& shape) {
  const File file = toy::make_file(shape);
  Sample sample = named(name, file.bytes.substr(0, file.begins.back() + 3));
  sample.want.damaged = true;
  StreamDigest digest;
  for (std::uint64_t i = 0; i + shape.records_per_chunk < file.records.size(); ++i)
    digest.add(as_bytes(file.records[i]));
  sample.want.right = {digest.finish()};
  return sample;
}

std::vector<toy::PartShape> some_parts(std::uint64_t ordinal) {
  std::vector<toy::PartShape> parts = {{.key = "directory"}, {.key = "text", .kind = PartKind::kText, .bytes = "text"}};
  for (std::uint64_t i = 0; i < ordinal; ++i) {
    parts.push_back({.key = "slice", .parent = 0, .kind = PartKind::kSlice, .bytes = std::string(i, 'x')});
  }
  return parts;
}

std::size_t tenth_is_large(std::uint64_t ordinal) { return ordinal % 10 == 9 ? 3000 : ordinal % 4; }

}  // namespace

std::vector<Sample> toy_samples() {
  return {
      make_empty(),
      make_sample("no_chunks", {.chunks = 0}),
      make_sample("seekable", {}),
      make_sample("packed", {.seekable = false}),
      make_sample("counts_unknown", {.seekable = false, .counts_in_header = false, .small_layout = false}),
      make_sample("minimal", {.seekable = false, .counts_in_header = false, .small_layout = false, .minimal = true}),
      make_sample("minimal_damaged", {.chunks = 6,
                                      .seekable = false,
                                      .minimal = true,
                                      .broken_headers = {0, 3},
                                      .broken_payloads = {4},
                                      .unreadable_records = {7}}),
      make_sample("by_parts", {.by_parts = true}),
      make_sample("parts", {.parts = some_parts}),
      make_sample("broken_parts", {.parts = some_parts, .broken_parts = {0, 5}}),
      make_sample("uneven_records", {.chunks = 6, .records_per_chunk = 7, .record_size = tenth_is_large}),
      make_sample("chunks_without_records", {.chunks = 3, .records_per_chunk = 0}),
      make_sample("broken_headers", {.chunks = 6, .broken_headers = {0, 3, 4}}),
      make_sample("broken_headers_packed", {.chunks = 6, .seekable = false, .broken_headers = {0, 3, 4}}),
      make_sample("broken_payload", {.broken_payloads = {1}}),
      make_sample("unsupported", {.unsupported = {2}}),
      make_sample("unreadable_records", {.unreadable_records = {0, 4, 11}}),
      make_cut("cut", {}),
      make_cut("cut_packed", {.seekable = false}),
  };
}

}  // namespace recordfs::contract
