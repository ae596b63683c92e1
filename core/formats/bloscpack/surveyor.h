// How a survey is made: the headers in survey.cc, the chunks in places.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/formats/bloscpack/survey.h"

namespace recordfs::bloscpack {

// One survey, one thread.
class Surveyor {
 public:
  explicit Surveyor(const Source& source) : source_(source) {}
  // Fails only as Source does. Once.
  Result<Survey> run();

 private:
  // Nothing behind the headers can be told; a region of damage.
  void refuse(Code code, Position at, std::string why) { found_.refusal = Error{code, at, std::move(why)}; }
  void tell_refusal();
  void tell(Position begin, Position end, DamageClass damage_class, std::optional<std::uint64_t> lost, std::string why);

  Result<void> read_headers();
  // Sizes that no writer makes, though no reader needs them.
  void tell_nonsense();
  Result<void> plain_metadata();
  Result<void> read_metadata_header();
  // Goes on behind metadata of which it is not known where it ends: at offsets, the first of which leads right behind
  // them. Without such offsets nothing can be told.
  Result<void> pass_metadata(Code code, const std::string& why);
  // Where the offsets begin behind the metadata; 0 where they are not found.
  Result<Position> search_offsets() const;
  Result<Look> look(Position at) const { return look_at(source_, at, found_.header.digest_bytes()); }
  Result<bool> is_chunk(Position at) const;

  // --- how many chunks there are, and where
  Result<void> find_chunks();
  void be_chain(Position first);
  // Whether the offsets were never written, which is how a writer that was interrupted leaves them.
  Result<bool> find_unset();
  // How many offsets the header asks for; nullopt: it does not know or it makes no sense.
  std::optional<std::uint64_t> declared_offsets() const;
  // How many offsets stand before the chunk that `offset` leads to, if it leads to one behind offsets.
  Result<std::optional<std::uint64_t>> offsets_before(std::uint64_t offset) const;
  // Real files: the first chunk stands right behind the offsets, so the first offset says how many there are.
  Result<void> find_anchors();
  Result<void> count_anchors(std::uint64_t offsets);
  // Whether the last chunk that the header counts has an offset and the one behind has none.
  Result<bool> count_agrees(const Offsets& all) const;
  void tell_count(std::uint64_t count, std::uint64_t offsets);
  // Takes the first `count` offsets for anchors where they ascend. Those that lead behind the file's end are none.
  Result<void> trust_ascending(std::uint64_t count, bool rest_is_slack);
  // REQUIRES: they ascend.
  Result<void> be_anchored(const Offsets& all);

  // --- the proposal: items stand anywhere behind the offsets
  Result<void> find_items();
  Result<void> order_items(const Offsets& all);
  // Of each offset that there is room for, and the place behind them, whether a Blosc header may begin there.
  Result<std::vector<bool>> marked_beginnings() const;
  // How many offsets there are: as many as the header says, unless one of them leads to a chunk before the last of
  // them, or what is behind the last is an offset too.
  Result<std::uint64_t> offsets_of_items() const;

  const Source& source_;
  Survey found_;
  Position at_ = 0;         // behind the headers
  std::uint64_t room_ = 0;  // for offsets
};

}  // namespace recordfs::bloscpack
