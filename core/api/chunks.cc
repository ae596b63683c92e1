// The chunks of a file, and its damage.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/handles.h"
#include "core/dataset/record_block.h"
#include "core/store/record_store.h"
#include "core/store/wait_ticket.h"
#include "core/verify/verification.h"

using namespace recordfs;
using namespace recordfs::api;

struct recordfs_chunks : Handle {
  recordfs_chunks(std::shared_ptr<const OpenedSet> opened, std::shared_ptr<const RecordStore> of, std::string of_path)
      : set(std::move(opened)),
        store(std::move(of)),
        path(std::move(of_path)),
        scanner(store->index().scanner(ScanDetail::kCounts)) {}

  recordfs_status next(const recordfs_chunk** chunk) {
    // Damage is reported when it can no longer grow.
    while (found.empty() || (found.size() == 1 && is_damage(found.front()) && !scanner.at_end())) {
      if (scanner.at_end()) return RECORDFS_END;
      if (auto stepped = scanner.step({}); !stepped) return report(failure_of(std::move(stepped.error()), path));
      take_step();
    }
    const Found first = std::move(found.front());
    found.pop_front();
    if (const auto* const row = std::get_if<DamageRow>(&first)) {
      return report(failure_of(error_of(row->region), path, true));
    }
    show(std::get<IndexedChunk>(first));
    *chunk = &current;
    return RECORDFS_OK;
  }

 private:
  using Found = std::variant<DamageRow, IndexedChunk>;

  static bool is_damage(const Found& one) { return std::holds_alternative<DamageRow>(one); }

  void take_step() {
    bool has_chunk = !scanner.chunk().has_value();
    for (const DamageRow& row : scanner.damage()) {
      if (!has_chunk && row.region.begin >= scanner.chunk()->chunk.begin) {
        found.emplace_back(*scanner.chunk());
        has_chunk = true;
      }
      add(row);
    }
    if (!has_chunk) found.emplace_back(*scanner.chunk());
  }

  void add(const DamageRow& row) {
    auto* const last = found.empty() ? nullptr : std::get_if<DamageRow>(&found.back());
    const bool is_same = last != nullptr && last->region.end == row.region.begin &&
                         last->region.damage_class == row.region.damage_class &&
                         last->region.reason == row.region.reason;
    if (is_same) {
      last->region.end = row.region.end;
    } else {
      found.emplace_back(row);
    }
  }

  void show(const IndexedChunk& indexed) {
    const ChunkInfo& chunk = indexed.chunk;
    kind = chunk.kind.word();
    codec = chunk.codec;
    current = {.begin = chunk.begin,
               .end = chunk.end,
               .first_ordinal = indexed.before.records,
               .records = indexed.after().records - indexed.before.records,
               .stored_bytes = chunk.stored_size,
               .decoded_bytes = chunk.decoded_size.value_or(RECORDFS_UNKNOWN),
               .kind = kind.c_str(),
               .codec = codec.c_str()};
  }

  const std::shared_ptr<const OpenedSet> set;
  const std::shared_ptr<const RecordStore> store;
  const std::string path;
  Scanner scanner;
  std::deque<Found> found{};  // by the scan, and not yet returned
  std::string kind{};
  std::string codec{};
  recordfs_chunk current{};
};

namespace {

struct FoundRegion {
  recordfs_region region;
  std::string kind;
  std::string reason;
};

FoundRegion found_region(const DamageRow& row) {
  const DamagedRegion& region = row.region;
  return {.region = {.begin = region.begin,
                     .end = region.end,
                     .first_ordinal = row.first_ordinal,
                     .records_lost = region.records_lost.value_or(RECORDFS_UNKNOWN),
                     .least_records_lost = region.records_lost.value_or(region.least_lost),
                     .kind = nullptr,
                     .reason = nullptr},
          .kind = std::string(to_string(region.damage_class)),
          .reason = region.reason};
}

FoundRegion found_region(const Finding& finding) {
  return {.region = {.begin = finding.begin,
                     .end = finding.end.value_or(RECORDFS_UNKNOWN),
                     .first_ordinal = RECORDFS_UNKNOWN,
                     .records_lost = finding.records_lost.value_or(RECORDFS_UNKNOWN),
                     .least_records_lost = finding.records_lost.value_or(finding.least_lost),
                     .kind = nullptr,
                     .reason = nullptr},
          .kind = std::string(finding.word),
          .reason = finding.reason};
}

template <class Rows>
std::vector<FoundRegion> found_regions(const Rows& rows) {
  std::vector<FoundRegion> found;
  found.reserve(rows.size());
  for (const auto& row : rows) found.push_back(found_region(row));
  return found;
}

std::vector<FoundRegion> verify_file(const RecordStore& store, unsigned threads) {
  constexpr std::uint64_t kMemory = 64u << 20;  // bytes of decoded chunks
  Verdict verdict = verify(store, threads, kMemory, [](std::uint64_t) { return true; });
  if (auto unchecked = finding_without_checksums(verdict)) verdict.findings.push_back(*std::move(unchecked));
  return found_regions(verdict.findings);
}

}  // namespace

struct recordfs_damage : Handle {
  explicit recordfs_damage(std::vector<FoundRegion> found) : regions(std::move(found)) {}

  recordfs_status next(const recordfs_region** region) {
    if (at == regions.size()) return RECORDFS_END;
    FoundRegion& found = regions[at++];
    found.region.kind = found.kind.c_str();
    found.region.reason = found.reason.c_str();
    *region = &found.region;
    return RECORDFS_OK;
  }

 private:
  std::vector<FoundRegion> regions;
  std::size_t at = 0;
};

recordfs_status recordfs_chunks_open(const recordfs_dataset* dataset, size_t file, recordfs_chunks** chunks) {
  const auto make = [&]() -> Result<recordfs_chunks*> {
    ASSIGN_OR_RETURN(auto store, open_file_of(*dataset->set, file));
    return std::make_unique<recordfs_chunks>(dataset->set, std::move(store), path_of(*dataset->set, file)).release();
  };
  return answer(chunks, make, about_file(dataset, file), dataset);
}

recordfs_status recordfs_chunks_next(recordfs_chunks* chunks, const recordfs_chunk** chunk) {
  return advance(chunks, chunk);
}

void recordfs_chunks_close(recordfs_chunks* chunks) { free_object(chunks); }

recordfs_status recordfs_damage_open(const recordfs_dataset* dataset, size_t file, recordfs_damage** damage) {
  const auto make = [&]() -> Result<recordfs_damage*> {
    ASSIGN_OR_RETURN(const auto store, open_file_of(*dataset->set, file));
    ASSIGN_OR_RETURN(const auto rows, wait_for({}, [&] { return store->index().damage(); }));
    return std::make_unique<recordfs_damage>(found_regions(*rows)).release();
  };
  return answer(damage, make, about_file(dataset, file), dataset);
}

recordfs_status recordfs_verify(const recordfs_dataset* dataset, size_t file, recordfs_damage** damage) {
  const auto make = [&]() -> Result<recordfs_damage*> {
    ASSIGN_OR_RETURN(const auto store, open_file_of(*dataset->set, file));
    return std::make_unique<recordfs_damage>(verify_file(*store, dataset->set->threads())).release();
  };
  return answer(damage, make, about_file(dataset, file), dataset);
}

recordfs_status recordfs_damage_next(recordfs_damage* damage, const recordfs_region** region) {
  return advance(damage, region);
}

void recordfs_damage_close(recordfs_damage* damage) { free_object(damage); }
