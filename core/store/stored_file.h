// What the parts of a RecordStore share: one open file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/store/scanner.h"
#include "core/store/services.h"

namespace recordfs {

// Returns `container` without its unfinished tail. A scan ends there, and reports neither an incomplete chunk nor a
// region of class unfinished. Such a region is reported if anything else follows it. trailer() is not null once the
// trailer can be read. `size` is the size of the container's source.
std::unique_ptr<const Container> complete_prefix(std::unique_ptr<const Container> container, Position size);

// Immutable. `services` must outlive it. Drops the file's chunks from the caches when it is destroyed.
struct StoredFile {
  StoredFile(std::string file_name, std::shared_ptr<const Source> bytes, std::unique_ptr<const Container> opened,
             Services& shared, bool follows)
      : is_followed(follows),
        name(std::move(file_name)),
        source(std::move(bytes)),
        container(follows ? complete_prefix(std::move(opened), source->size()) : std::move(opened)),
        services(shared),
        budgets(shared.budgets_of(source->filesystem())) {}
  ~StoredFile() {
    services.chunks.forget(id);
    services.layouts.forget(id);
  }
  StoredFile(const StoredFile&) = delete;
  StoredFile& operator=(const StoredFile&) = delete;

  CacheKey key_of(const ChunkInfo& chunk) const { return {id, chunk.begin}; }
  // Returns Container::layout(), made within the DecodeBudget.
  Result<Layout> make_layout(const RequestContext& context, const ChunkInfo& chunk) const {
    DecodeBudget::Turn turn(budgets.slow);
    return container->layout(context.with(turn), chunk);
  }
  MakeLayout layout_maker() const {
    return [this](const RequestContext& context, const ChunkInfo& chunk) { return make_layout(context, chunk); };
  }

  static inline std::atomic<std::uint64_t> next_id{1};

  const std::uint64_t id = next_id.fetch_add(1);
  const bool is_followed;
  const std::string name;  // in log lines and errors
  const std::shared_ptr<const Source> source;
  const std::unique_ptr<const Container> container;
  Services& services;
  DecodeBudgets& budgets;
};

}  // namespace recordfs
