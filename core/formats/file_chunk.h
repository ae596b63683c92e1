// A chunk that is read in place: it reads its payload from the file on demand.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/buffer.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"

namespace recordfs {

class FileChunk final : public Chunk {
 public:
  // Reads `length` bytes of the payload from `offset`. Callable from any thread.
  using Read = std::function<Result<Buffer>(const RequestContext& context, const Source&, const Layout&,
                                            std::uint64_t offset, std::uint64_t length)>;
  // Reads a payload that is stored unchanged from `begin` on.
  static Read stored_at(Position begin);

  // A verification of the whole payload, which has succeeded once.
  struct Verified {
    std::uint64_t generation = 0;  // of the source, before the verification
    Position begin = 0;            // for errors
    std::function<Result<void>(const RequestContext&, const Source&)> again{};  // callable from any thread
  };

  // For a `read` that verifies what it reads, or a format without checksums. `held`: the memory that `read` uses.
  FileChunk(std::shared_ptr<const Source> source, Layout layout, Read read, std::uint64_t held = 0)
      : FileChunk(std::move(source), std::move(layout), std::move(read), Verified{}, held) {}
  // Verifies the payload again when the source was touched.
  FileChunk(std::shared_ptr<const Source> source, Layout layout, Read read, Verified verified, std::uint64_t held = 0)
      : Chunk(std::move(layout)),
        source_(std::move(source)),
        read_(std::move(read)),
        verified_(std::move(verified)),
        generation_(verified_.generation),
        held_(held) {}

  std::uint64_t payload_size() const override { return layout().end(); }
  // Fails as Read and Verified do, and with kChanged if the file keeps changing.
  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const override;
  std::uint64_t memory() const override { return sizeof(*this) + held_ + layout().memory(); }

 private:
  const std::shared_ptr<const Source> source_;
  const Read read_;
  const Verified verified_;
  mutable std::atomic<std::uint64_t> generation_;  // of the source, before the last verification
  const std::uint64_t held_;
};

}  // namespace recordfs
