// What the parts of a RecordStore share: one open file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/formats/container.h"
#include "core/store/scanner.h"
#include "core/store/shared_cache.h"
#include "core/store/shared_resources.h"

namespace recordfs {

// Returns `container` without its unfinished tail. A scan ends there, and reports neither an incomplete chunk nor a
// region of class unfinished. Such a region is reported if anything else follows it. trailer() is not null once the
// trailer can be read. `size` is the size of the container's source.
std::unique_ptr<const Container> complete_prefix(std::unique_ptr<const Container> container, Position size);

// Immutable. `services` must outlive it. Drops the file's chunks from the caches when it is destroyed.
struct StoredFile {
  StoredFile(std::string file_name, std::shared_ptr<const Source> bytes, std::unique_ptr<const Container> opened,
             StoreResources& shared, bool follows)
      : is_followed(follows),
        name(std::move(file_name)),
        source(std::move(bytes)),
        container(follows ? complete_prefix(std::move(opened), source->size()) : std::move(opened)),
        services(shared),
        budgets(shared.budgets_of(source->filesystem())) {
    services.make_room(0);  // closed files have left room
  }
  ~StoredFile() {
    services.chunks.forget(id);
    services.layouts.forget(id);
  }
  StoredFile(const StoredFile&) = delete;
  StoredFile& operator=(const StoredFile&) = delete;

  CacheKey key_of(const ChunkInfo& chunk) const { return {id, chunk.begin}; }
  // Returns Container::layout(), made within the DecodeBudget.
  Result<Layout> make_layout(const RequestContext& context, const ChunkInfo& chunk) const {
    DecodeBudget::DeferredReservation turn(budgets.slow);
    return container->layout(context.with(turn), chunk);
  }
  // Returns the cached layout of a chunk, or makes it. Fails like make_layout().
  Result<std::shared_ptr<const Layout>> cached_layout(const RequestContext& context, const ChunkInfo& chunk) const {
    return services.layouts.get(context, key_of(chunk), [&]() -> Result<std::shared_ptr<const Layout>> {
      ASSIGN_OR_RETURN(auto made, make_layout(context, chunk));
      services.make_room(made.memory());
      return std::make_shared<const Layout>(std::move(made));
    });
  }
  // For scans. Caches the layouts of small chunks, because a listing with sizes needs each of them next.
  MakeLayout layout_maker() const {
    return [this](const RequestContext& context, const ChunkInfo& chunk) -> Result<std::shared_ptr<const Layout>> {
      if (chunk.stored_size <= kSmallChunk) return cached_layout(context, chunk);
      ASSIGN_OR_RETURN(auto layout, make_layout(context, chunk));
      return std::make_shared<const Layout>(std::move(layout));
    };
  }

  static constexpr std::uint64_t kSmallChunk = 64u << 10;
  static inline std::atomic<std::uint64_t> next_id{1};

  const std::uint64_t id = next_id.fetch_add(1);
  const bool is_followed;
  const std::string name;  // in log lines and errors
  const std::shared_ptr<const Source> source;
  const std::unique_ptr<const Container> container;
  StoreResources& services;
  DecodeBudgets& budgets;
};

}  // namespace recordfs
