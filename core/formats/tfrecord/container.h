// The part shared by plain and compressed TFRecord files.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"
#include "core/formats/tfrecord/wire.h"

namespace recordfs::tfrecord {

// `compression`: as in info.json.
ContainerTraits traits_of(std::string_view compression, bool index_fits_in_chunk);
RecordSchema schema_of(const Limits& limits);

// Opens an uncompressed file.
std::unique_ptr<Container> open_plain(const std::shared_ptr<const Source>& source, const Limits& limits);

// Returns the error for a record whose checksum does not match, and which is at this place in the framed records.
using WrongRecord = std::function<Error(std::uint64_t offset, std::uint64_t size)>;

// Returns the chunk of `stored`, which consists of framed records only. Records whose data do not match their
// checksum carry the failure that `wrong` returns. `begin` is where the chunk begins in the file, for errors. Fails
// with kDamage. Any thread.
Result<std::shared_ptr<const Chunk>> split(const RequestContext& context, Buffer stored, Position begin,
                                           const WrongRecord& wrong);

// Finds record boundaries in consecutive pieces. One thread.
class RecordFollower {
 public:
  struct Record {
    std::uint64_t end = 0;  // offset of its end, counted over all pieces
    std::uint64_t length = 0;
  };

  // Returns the records that end in the next piece, up to an invalid header.
  std::vector<Record> follow(Bytes piece);
  // Returns whether an invalid header was found. After that, no more records are returned.
  bool is_lost() const { return is_lost_; }
  // Returns whether the pieces so far end inside a record.
  bool is_inside() const { return held_ > 0 || left_ > 0; }
  // Returns the length of that record, or 0 if its header is incomplete.
  std::uint64_t length_inside() const { return left_ > 0 ? length_ : 0; }

 private:
  void take_header();

  std::array<std::byte, kHeaderSize> header_{};
  std::size_t held_ = 0;      // bytes of an incomplete header
  std::uint64_t left_ = 0;    // bytes of the current record still to come after its header
  std::uint64_t length_ = 0;  // of that record
  std::uint64_t followed_ = 0;
  bool is_lost_ = false;
};

}  // namespace recordfs::tfrecord
