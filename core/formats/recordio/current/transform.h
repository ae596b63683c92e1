// The transformers of a file: what was done to each chunk's content before it was stored. FORMAT.md, "Transformers".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/codec/codec.h"
#include "core/formats/chunk.h"

namespace recordfs::recordio {

// Gives the first bytes of a chunk as it is stored: `size` of them or more, or all when it has no more.
using StoredPrefix = std::function<Result<Buffer>(std::uint64_t size)>;

// Const after it was made; any thread.
class Transform {
 public:
  // Nothing was done.
  Transform() = default;
  explicit Transform(std::vector<CodecId> codecs) : codecs_(std::move(codecs)) {}
  // What the strings of a header say. A name that nobody knows makes it one that can't be undone.
  static Transform from_names(const std::vector<std::string>& names);
  // One that can't be undone.
  static Transform unknown(std::string why);

  bool is_none() const { return codecs_.empty() && !unsupported_; }
  // Why it can't be undone; null when it can.
  const Error* unsupported() const { return unsupported_ ? &*unsupported_ : nullptr; }
  // The word for ChunkInfo::codec. Static storage.
  std::string_view word() const;

  // Undoes all of it. Fails with kUnsupported, and with kDamage and kLimit, at position 0. `stored_size` is all of
  // what `prefix` can give. REQUIRES: !is_none().
  Result<Layout> layout(const StoredPrefix& prefix, std::uint64_t stored_size, const Limits& limits) const;

  struct Content {
    Buffer bytes;  // table and items
    Layout layout;
  };
  // Undoes all of it. Fails as layout(). REQUIRES: !is_none().
  Result<Content> undo(Bytes stored, const Limits& limits) const;

  // The same as a chunk, for `stored` that was verified: a large one leaves the transformer that was applied first, and
  // its failures, to who reads it. `explain` adds to those where they happened; any thread. Fails as layout().
  // REQUIRES: !is_none().
  Result<std::shared_ptr<const Chunk>> decode(Buffer stored, const Limits& limits,
                                              const std::function<Error(Error)>& explain) const;

 private:
  // All of them undone but the one that was applied first.
  struct Inner {
    Layout layout;
    std::optional<Buffer> stream;  // nullopt: it is what is stored
  };
  Result<Inner> undo_outer(Bytes stored, const Limits& limits) const;

  std::vector<CodecId> codecs_;  // in the order in which they were applied
  std::optional<Error> unsupported_;
};

}  // namespace recordfs::recordio
