#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "tests/contract/rules.h"

namespace recordfs::contract {
namespace {

constexpr std::size_t kMostWindow = 2u << 20;
constexpr std::size_t kCheckedKeys = 12;

// Steps that a scan takes one by one, where a batch was read.
class Replay {
 public:
  Replay(const Container& container, const RecordBatch& batch) : container_(container), batch_(batch) {}

  Violations run() {
    if (batch_.chunks.size() != batch_.run.chunks) return fail("has another number of chunks");
    std::optional<ChunkKey> at = batch_.run.from;
    for (std::uint64_t chunks = 0; chunks < batch_.run.chunks && broken_.empty();) {
      if (!at) return fail("the scan ends inside the batch");
      const auto step = container_.scan({}, *at);
      if (!step || !step->damage.empty()) return fail("the scan does not find all of it intact");
      if (step->chunk) compare(*step->chunk, batch_.chunks[static_cast<std::size_t>(chunks++)]);
      at = step->next;
    }
    if (broken_.empty() && (taken_ != batch_.records.size() || taken_ != batch_.run.records)) fail("too many records");
    if (broken_.empty() && bytes_ != batch_.run.bytes) fail("wrong sum of sizes");
    if (broken_.empty()) compare_rest(at);
    return std::move(broken_);
  }

 private:
  Violations fail(std::string_view what) {
    broken_.push_back(fmt::format("batch from {} to {}: {}", batch_.run.from.position, batch_.run.next.position, what));
    return std::move(broken_);
  }
  void note(std::string_view what) { broken_.push_back(std::string(what)); }

  void compare(const ChunkInfo& info, const BatchChunk& found) {
    if (info.begin != found.begin || info.end != found.end || info.records.value_or(found.records) != found.records) {
      return note(to_string(info) + ": is another chunk in the batch");
    }
    const auto chunk = container_.decode({}, info);
    if (!chunk) return note(to_string(info) + ": only the batch can be decoded");
    const Layout& layout = (*chunk)->layout();
    if (layout.has_failures()) return note(to_string(info) + ": has unreadable records");
    for (std::uint64_t i = 0; i < layout.records(); ++i, ++taken_) {
      const auto record = (*chunk)->read({}, layout.extent(i).begin, layout.extent(i).size);
      if (!record || taken_ >= batch_.records.size() || !std::ranges::equal(record->bytes, batch_.records[taken_])) {
        return note(fmt::format("{}: record {} has other bytes in the batch", to_string(info), i));
      }
      bytes_ += record->bytes.size();
    }
  }

  void compare_rest(std::optional<ChunkKey> at) {
    const auto after = container_.scan({}, batch_.run.next);
    const auto expected = at ? container_.scan({}, *at) : Result<Step>(Step{});
    if (!after || !expected) return;
    const bool same_chunk_follows = after->chunk.has_value() == expected->chunk.has_value() &&
                                    (!after->chunk || same_chunk(*after->chunk, *expected->chunk));
    const bool same_damage_follows = std::ranges::equal(after->damage, expected->damage, same_region);
    if (!same_chunk_follows || !same_damage_follows) fail("a scan continues differently after it");
  }

  const Container& container_;
  const RecordBatch& batch_;
  std::size_t taken_ = 0;
  std::uint64_t bytes_ = 0;
  Violations broken_;
};

// Returns the metadata in effect at a chunk; before the first one there is none.
std::vector<std::string> metadata_at(const Metadata& metadata, const std::optional<ChunkInfo>& chunk) {
  std::vector<std::string> lines;
  if (!chunk) return lines;
  const auto attributes = metadata.attributes({}, &*chunk);
  if (!attributes) return {attributes.error().detail};
  for (const Attribute& one : *attributes) lines.push_back(one.key + "=" + one.value);
  return lines;
}

// The metadata at the batch's end are those before it.
Violations check_metadata(const Container& container, const Walk& walk, const ChunkRun& run) {
  const Metadata* const metadata = container.metadata();
  if (metadata == nullptr || !metadata->varies()) return {};
  std::optional<ChunkInfo> before;
  std::optional<ChunkInfo> last;
  for (const Visit& visit : walk.visits) {
    const auto& chunk = visit.step.chunk;
    if (!chunk || chunk->begin >= run.next.position) continue;
    (chunk->begin < run.from.position ? before : last) = chunk;
  }
  if (metadata_at(*metadata, before) == metadata_at(*metadata, last)) return {};
  return {fmt::format("batch from {} to {}: changes the metadata", run.from.position, run.next.position)};
}

}  // namespace

Violations check_bulk(const Container& container, Bytes file, const Walk& walk, std::uint64_t seed,
                      std::uint64_t* chunks) {
  Violations broken;
  const BulkReader* const bulk = container.bulk();
  if (bulk == nullptr || !walk.in_file_order) return broken;
  std::mt19937_64 random(seed);
  std::vector<ChunkKey> keys;
  for (const Visit& visit : walk.visits) keys.push_back(visit.at);
  if (keys.size() > 1) std::shuffle(keys.begin() + 1, keys.end(), random);
  keys.resize(std::min(keys.size(), kCheckedKeys));
  for (const ChunkKey key : keys) {
    if (key.position >= file.size()) continue;
    Bytes window = file.subspan(static_cast<std::size_t>(key.position));
    window = window.first(std::min(window.size(), kMostWindow));
    for (const std::size_t size : {window.size(), static_cast<std::size_t>(random() % (window.size() + 1))}) {
      const Slice part{window.first(size), {}};
      const ChunkRun planned = bulk->plan(key, part.bytes);
      if (planned.chunks == 0) continue;
      const RecordBatch batch = bulk->read({}, planned, part);
      if (batch.run.chunks > planned.chunks) broken.push_back("a batch has more chunks than planned");
      std::ranges::move(Replay(container, batch).run(), std::back_inserter(broken));
      if (batch.run.chunks > 0) {
        std::ranges::move(check_metadata(container, walk, batch.run), std::back_inserter(broken));
      }
      if (chunks != nullptr) *chunks += batch.run.chunks;
    }
  }
  return broken;
}

}  // namespace recordfs::contract
