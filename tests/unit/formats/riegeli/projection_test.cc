// Projected records against decoding everything and then dropping fields.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/base/source.h"
#include "core/formats/field_projection.h"
#include "core/formats/riegeli/stored.h"
#include "core/formats/riegeli/transposed/decode.h"
#include "tests/unit/formats/riegeli/walk.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::riegeli {
namespace {

using Path = std::vector<std::uint32_t>;
using Records = std::vector<std::string>;
using Place = FieldProjection::Place;

constexpr int kDeepest = 100;  // of the messages that writers take apart

// A field of a message: its tag and what follows.
struct Part {
  std::uint32_t tag = 0;
  std::string_view whole;
  std::string_view content;  // of a length-delimited field
};

// Returns the fields of a message, and of its groups; nullopt if it is not in the only form that writers take apart.
std::optional<std::vector<Part>> parts_of(std::string_view message) {
  std::vector<Part> parts;
  std::vector<std::uint32_t> groups;
  Cursor cursor(as_bytes(message));
  const auto canonical = [&](std::uint64_t limit) -> std::optional<std::uint64_t> {
    const std::size_t begin = cursor.offset();
    const std::uint64_t value = cursor.varint64();
    std::string minimal;
    protobuf::append_varint(minimal, value);
    if (!cursor.ok() || value > limit || minimal.size() != cursor.offset() - begin) return std::nullopt;
    return value;
  };
  while (!cursor.at_end()) {
    const std::size_t begin = cursor.offset();
    const auto tag = canonical(UINT32_MAX);
    if (!tag || *tag < 8) return std::nullopt;
    Part part{.tag = static_cast<std::uint32_t>(*tag), .whole = {}, .content = {}};
    switch (part.tag % 8) {
      case 0:
        if (!canonical(UINT64_MAX)) return std::nullopt;
        break;
      case 1: cursor.take(8); break;
      case 2: {
        const auto size = canonical(UINT32_MAX);
        if (!size) return std::nullopt;
        part.content = as_text(cursor.take(*size));
        break;
      }
      case 3: groups.push_back(part.tag / 8); break;
      case 4:
        if (groups.empty() || groups.back() != part.tag / 8) return std::nullopt;
        groups.pop_back();
        break;
      case 5: cursor.take(4); break;
      default: return std::nullopt;
    }
    if (!cursor.ok()) return std::nullopt;
    part.whole = message.substr(begin, cursor.offset() - begin);
    parts.push_back(part);
  }
  return groups.empty() ? std::optional(parts) : std::nullopt;
}

// Returns a message without the fields that are not wanted. `place` is that of the message.
std::string kept(std::string_view message, const FieldProjection& wanted, Place place, int depth) {
  const auto parts = parts_of(message);
  if (!parts || place == FieldProjection::kWhole) return std::string(message);
  std::string out;
  std::vector<Place> places{place};
  for (const Part& part : *parts) {
    const std::uint32_t kind = part.tag % 8;
    const Place inside = kind == 4 ? places.back() : wanted.field(places.back(), part.tag / 8);
    if (kind == 3) places.push_back(inside);
    if (kind == 4) places.pop_back();
    if (inside == FieldProjection::kExcluded) continue;
    const bool is_apart = kind == 2 && !part.content.empty() && depth < kDeepest && parts_of(part.content);
    if (!is_apart) {
      out += part.whole;
      continue;
    }
    protobuf::append_field(out, part.tag / 8, kept(part.content, wanted, inside, depth + 1));
  }
  return out;
}

// Adds the paths of the fields that occur in a message.
void add_paths(std::string_view message, const Path& parent, std::set<Path>& paths) {
  const auto parts = parts_of(message);
  if (!parts || parent.size() > 4 || paths.size() > 500) return;
  Path path = parent;
  for (const Part& part : *parts) {
    if (part.tag % 8 == 4) {
      path.pop_back();
      continue;
    }
    path.push_back(part.tag / 8);
    paths.insert(path);
    if (part.tag % 8 == 2) add_paths(part.content, path, paths);
    if (part.tag % 8 != 3) path.pop_back();
  }
}

FieldProjection projection_of(const std::vector<Path>& paths) {
  FieldProjection fields;
  for (const Path& path : paths) fields.add(path);
  return fields;
}

// A transposed chunk of the corpus.
struct TransposedFile {
  std::string name;
  std::string data;
  std::uint64_t records = 0;
  std::uint64_t decoded_size = 0;
};

std::vector<TransposedFile> samples() {
  std::vector<TransposedFile> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/corpus/riegeli")) {
    if (entry.path().extension() != ".riegeli") continue;
    const std::string bytes = testing::read_file(entry.path());
    const auto container = open_bytes(bytes);
    if (!container) continue;
    int chunks = 0;
    for (const ChunkInfo& chunk : walk(*container, bytes.size()).chunks) {
      if (chunk.kind.as<ChunkType>() != ChunkType::kTransposed || chunks++ > 3) continue;
      const auto data = read_verified({}, MemorySource(*Buffer::copy_of({}, as_bytes(bytes))), chunk);
      if (!data) continue;
      all.push_back({entry.path().filename(), std::string(as_text(data->view())), chunk.records.value_or(0),
                     chunk.decoded_size.value_or(0)});
    }
  }
  return all;
}

Result<Records> records_in(const Result<transposed::Decoded>& decoded) {
  if (!decoded) return decoded.error();
  Records records;
  for (std::uint64_t i = 0; i < decoded->layout.records(); ++i) {
    const Extent extent = decoded->layout.extent(i);
    records.emplace_back(as_text(decoded->payload.view().subspan(extent.begin, extent.size)));
  }
  return records;
}

Result<Records> all_of(const TransposedFile& sample) {
  return records_in(transposed::decode({}, as_bytes(sample.data), sample.records, sample.decoded_size, {}));
}

Result<Records> some_of(const TransposedFile& sample, const FieldProjection& wanted) {
  return records_in(
      transposed::decode_fields({}, as_bytes(sample.data), sample.records, sample.decoded_size, {}, wanted));
}

Records kept(const Records& records, const FieldProjection& wanted) {
  Records out;
  for (const std::string& record : records) out.push_back(kept(record, wanted, FieldProjection::kRecord, 1));
  return out;
}

TEST(Projection, EqualsDecodingAllAndDroppingFields) {
  std::size_t dropped = 0;
  for (const TransposedFile& sample : samples()) {
    const auto all = all_of(sample);
    if (!all) continue;
    std::set<Path> found{{4000}};  // no record has this one
    for (const std::string& record : *all) add_paths(record, {}, found);
    const std::vector<Path> paths(found.begin(), found.end());
    std::vector<std::vector<Path>> choices{{}};
    for (std::size_t i = 0; i < paths.size(); i += 1 + paths.size() / 40) choices.push_back({paths[i]});
    std::mt19937 random(1);
    for (const std::size_t size : {2u, 3u, 5u, 20u, 20u}) {
      choices.emplace_back();
      std::ranges::sample(paths, std::back_inserter(choices.back()), static_cast<std::ptrdiff_t>(size), random);
    }
    for (const auto& choice : choices) {
      const FieldProjection wanted = projection_of(choice);
      const auto some = some_of(sample, wanted);
      ASSERT_TRUE(some) << sample.name;
      ASSERT_EQ(*some, kept(*all, wanted)) << sample.name << " " << ::testing::PrintToString(choice);
      dropped += *some == *all ? 0 : 1;
    }
  }
  EXPECT_GT(dropped, 200u);
}

TEST(Projection, WholeRecordIsDecodedAsWithout) {
  for (const TransposedFile& sample : samples()) {
    EXPECT_EQ(some_of(sample, projection_of({{1}, {}})).value_or(Records{"?"}), all_of(sample).value_or(Records{"?"}))
        << sample.name;
  }
}

// A chunk that nothing but its hash protects from these.
TEST(Projection, ChangedChunksFailAsWithoutOrHaveAllRecords) {
  std::mt19937 random(1);
  const auto below = [&random](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  for (const TransposedFile& intact : samples()) {
    for (int i = 0; i < 60; ++i) {
      TransposedFile sample = intact;
      sample.data[below(std::min<std::size_t>(sample.data.size(), 600))] = static_cast<char>(below(256));
      const auto all = all_of(sample);
      const auto some = some_of(sample, projection_of({{static_cast<std::uint32_t>(1 + below(6))}, {2, 1}}));
      if (some) {
        EXPECT_EQ(some->size(), sample.records);
      } else {
        ASSERT_FALSE(all) << intact.name;
        EXPECT_EQ(some.error().code, all.error().code);
        EXPECT_EQ(some.error().detail, all.error().detail);
      }
    }
  }
}

}  // namespace
}  // namespace recordfs::riegeli
