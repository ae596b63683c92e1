// Finds the number, the positions and the order of a file's chunks, for a Survey.
#pragma once

#include <optional>
#include <vector>

#include "core/formats/bloscpack/offsets.h"
#include "core/formats/bloscpack/survey.h"

namespace recordfs::bloscpack {

// Works once, in one thread.
class ChunkFinder {
 public:
  // `found` has the headers, which end at `at`. Both must outlive this.
  ChunkFinder(const Source& source, Position at, Survey& found) : source_(source), at_(at), found_(found) {}
  // Completes the survey. Fails only as Source does.
  Result<void> run();

 private:
  void use_sequential_order(Position first);
  // Detects offsets that were never written because the writer was interrupted.
  Result<bool> find_unset();
  // If `offset` points to a chunk after the offsets, returns how many offsets precede that chunk.
  Result<std::optional<std::uint64_t>> offsets_before(std::uint64_t offset) const;
  // Real files: the first chunk directly follows the offsets, so the first offset gives their number.
  Result<void> find_anchors();
  Result<void> count_anchors(std::uint64_t offsets);
  // Returns whether the last chunk counted by the header has an offset and the next one has none.
  Result<bool> count_agrees(const Offsets& all) const;
  void report_count(std::uint64_t count, std::uint64_t offsets);
  // Uses the first `count` offsets as anchors if they ascend. Offsets past the end of the file are not anchors.
  Result<void> trust_ascending(std::uint64_t count, bool rest_is_slack);
  // REQUIRES: they ascend.
  Result<void> use_anchors(const Offsets& all);

  // --- the proposal: items are anywhere after the offsets
  Result<void> find_items();
  Result<void> order_items(const Offsets& all);
  // Returns, for each possible offset and the position after them, whether a Blosc header may begin there.
  Result<std::vector<bool>> marked_beginnings() const;
  // Returns the number of offsets: the header's, unless an offset points to a chunk before the last of them, or the
  // value after the last one is an offset too.
  Result<std::uint64_t> offsets_of_items() const;

  Result<bool> is_chunk(Position at) const { return bloscpack::is_chunk(source_, at, found_.header.digest_bytes()); }

  const Source& source_;
  const Position at_;  // end of the headers
  Survey& found_;
  std::uint64_t room_ = 0;  // maximal number of offsets
};

}  // namespace recordfs::bloscpack
