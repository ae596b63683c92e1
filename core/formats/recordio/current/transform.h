// The transformers of a file: how each chunk's content was encoded before it was stored. FORMAT.md, "Transformers".
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

// Returns the first `size` bytes of a stored chunk or more, or all if it has fewer.
using StoredPrefix = std::function<Result<Buffer>(std::uint64_t size)>;

// Immutable; any thread.
class Transform {
 public:
  // No transformer.
  Transform() = default;
  explicit Transform(std::vector<CodecId> codecs) : codecs_(std::move(codecs)) {}
  // Parses the strings of a header. An unknown name makes the transform unsupported.
  static Transform from_names(const std::vector<std::string>& names);
  // Returns an unsupported transform.
  static Transform unknown(std::string why);

  bool is_none() const { return codecs_.empty() && !unsupported_; }
  // Returns why the transform is unsupported; null if it is supported.
  const Error* unsupported() const { return unsupported_ ? &*unsupported_ : nullptr; }
  // Returns the value for ChunkInfo::codec. Static storage.
  std::string_view word() const;

  // Returns the content as it is stored: applies the transformers. `levels`: of each, nullopt for the usual one. Fails
  // with kUnsupported. REQUIRES: as many levels as transformers.
  Result<std::string> apply(std::string content, const std::vector<std::optional<int>>& levels) const;

  // Decodes only as much as the table needs. `stored_size` is the size of all that `prefix` can return. Fails with
  // kUnsupported, kDamage and kLimit, at position 0. REQUIRES: !is_none().
  Result<Layout> layout(const RequestContext& context, const StoredPrefix& prefix, std::uint64_t stored_size,
                        const Limits& limits) const;

  struct Content {
    Buffer bytes;  // table and items
    Layout layout;
  };
  // Undoes all transformers. Fails as layout(). REQUIRES: !is_none().
  Result<Content> undo(const RequestContext& context, Bytes stored, const Limits& limits) const;

  // Returns the size of the whole content if `stored` states it, so that undo_into() can be used.
  std::optional<std::uint64_t> known_size(Bytes stored) const;
  // Writes the whole content to `out`. Fails with kDamage if it has another size. REQUIRES: out.size() is known_size().
  Result<void> undo_into(const RequestContext& context, Bytes stored, MutableBytes out) const;

  // Returns the same as a chunk; `stored` is verified. A large chunk undoes the transformer that was applied first,
  // and reports its failures, only when read. `explain` adds the position to those failures and must be callable from
  // any thread. Fails as layout(). REQUIRES: !is_none().
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, Buffer stored, const Limits& limits,
                                              const std::function<Error(Error)>& explain) const;

 private:
  // The result of undoing all transformers except the one that was applied first.
  struct Inner {
    Layout layout;
    std::optional<Buffer> stream;  // nullopt: the stored bytes themselves
  };
  Result<Inner> undo_outer(const RequestContext& context, Bytes stored, const Limits& limits) const;

  std::vector<CodecId> codecs_;  // in the order of application
  std::optional<Error> unsupported_;
};

}  // namespace recordfs::recordio
