// Builds a Survey: survey.cc reads the headers, places.cc finds the chunks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/formats/bloscpack/survey.h"

namespace recordfs::bloscpack {

// Makes one survey, in one thread.
class Surveyor {
 public:
  explicit Surveyor(const Source& source) : source_(source) {}
  // Fails only as Source does. Call once.
  Result<Survey> run();

 private:
  // Marks everything after the headers as uninterpretable; adds a region of damage.
  void refuse(Code code, Position at, std::string why) { found_.refusal = Error{code, at, std::move(why)}; }
  void tell_refusal();
  void tell(Position begin, Position end, DamageClass damage_class, std::optional<std::uint64_t> lost, std::string why);

  Result<void> read_headers();
  // Reports sizes that no writer produces, although readers do not need them.
  void tell_nonsense();
  Result<void> plain_metadata();
  Result<void> read_metadata_header();
  // Continues after metadata of unknown length, at the offsets, the first of which points directly after them.
  // Without such offsets the rest cannot be interpreted.
  Result<void> pass_metadata(Code code, const std::string& why);
  // Returns the begin of the offsets after the metadata; 0 if they are not found.
  Result<Position> search_offsets() const;
  Result<Look> look(Position at) const { return look_at(source_, at, found_.header.digest_bytes()); }
  Result<bool> is_chunk(Position at) const;

  // --- the number and positions of chunks
  Result<void> find_chunks();
  void use_sequential_order(Position first);
  // Detects offsets that were never written because the writer was interrupted.
  Result<bool> find_unset();
  // Returns the number of offsets according to the header; nullopt if that is unknown or meaningless.
  std::optional<std::uint64_t> declared_offsets() const;
  // If `offset` points to a chunk after the offsets, returns how many offsets precede that chunk.
  Result<std::optional<std::uint64_t>> offsets_before(std::uint64_t offset) const;
  // Real files: the first chunk directly follows the offsets, so the first offset gives their number.
  Result<void> find_anchors();
  Result<void> count_anchors(std::uint64_t offsets);
  // Returns whether the last chunk counted by the header has an offset and the next one has none.
  Result<bool> count_agrees(const Offsets& all) const;
  void tell_count(std::uint64_t count, std::uint64_t offsets);
  // Uses the first `count` offsets as anchors if they ascend. Offsets past the end of the file are not anchors.
  Result<void> trust_ascending(std::uint64_t count, bool rest_is_slack);
  // REQUIRES: they ascend.
  Result<void> be_anchored(const Offsets& all);

  // --- the proposal: items are anywhere after the offsets
  Result<void> find_items();
  Result<void> order_items(const Offsets& all);
  // Returns, for each possible offset and the position after them, whether a Blosc header may begin there.
  Result<std::vector<bool>> marked_beginnings() const;
  // Returns the number of offsets: the header's, unless an offset points to a chunk before the last of them, or the
  // value after the last one is an offset too.
  Result<std::uint64_t> offsets_of_items() const;

  const Source& source_;
  Survey found_;
  Position at_ = 0;         // end of the headers
  std::uint64_t room_ = 0;  // maximal number of offsets
};

}  // namespace recordfs::bloscpack
