// How exported records become the bytes of a file, in two steps: a RowEncoder makes the bytes of each record, on any
// thread, and a FileEncoder puts them into a file, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/columns/row_schema.h"
#include "core/export/row_json.h"
#include "core/formats/chunk_info.h"
#include "core/formats/record_writer.h"

namespace recordfs {

struct ExportedRecord {
  const RowReader& rows;  // of the record's container
  const ChunkInfo& chunk;
  std::uint64_t ordinal = 0;  // in the data set
  Bytes bytes{};
};

// Immutable and thread-safe.
class RowEncoder {
 public:
  virtual ~RowEncoder() = default;
  RowEncoder() = default;
  RowEncoder(const RowEncoder&) = delete;
  RowEncoder& operator=(const RowEncoder&) = delete;

  // Appends the bytes of a record. Fails with kDamage if the record is not what the format needs, with kLimit, and as
  // RowReader::append(). On failure appends nothing. May throw std::bad_alloc.
  virtual Result<void> append(const RequestContext& context, const ExportedRecord& record, std::string& out) const = 0;

  // Returns whether rows depend on nothing but the bytes of the records, and always have a place in the format.
  virtual bool depends_on_bytes_alone() const { return keeps_records() || stored_form() != nullptr; }
  // Returns whether a row is nothing but its record.
  virtual bool keeps_records() const { return false; }
  // Returns the format that stores records as append() makes them, each in its frame; null if there is none.
  virtual const FileWriter* stored_form() const { return nullptr; }

  // Return what a file has before and after its records.
  virtual std::string begin() const { return {}; }
  virtual std::string end() const { return {}; }
};

// The container that rows come from. It may be closed meanwhile, because rows of thousands may wait at once.
struct RowOrigin {
  std::string path{};  // of the container, in messages
  std::weak_ptr<const RecordStore> store{};
  std::shared_ptr<const RowDecoder> decoder{};  // null: the records have no columns, or none are wanted
};

// A record that has no place in the output, or a scalar of one.
struct RowFailure {
  std::shared_ptr<const RowOrigin> origin{};
  std::uint64_t ordinal = 0;
  Error why;
  bool is_part = false;  // of a record that counts as written, or has another failure
};

// The bytes of consecutive records of one container.
struct RowBytes {
  std::shared_ptr<const RowOrigin> origin{};
  std::string bytes{};
  Slice stored{};                         // the bytes, if they are in other memory
  std::span<const Bytes> pieces{};        // each record, if they are in several places, which `stored` owns
  std::vector<std::size_t> ends{};        // of each record, as if the records followed each other
  std::vector<std::uint64_t> ordinals{};  // of each, in the data set

  std::size_t size() const { return ends.size(); }
  std::size_t begin_of(std::size_t index) const { return index == 0 ? 0 : ends[index - 1]; }
  // Returns the number of bytes of the records [begin, end).
  std::size_t size_between(std::size_t begin, std::size_t end) const { return begin_of(end) - begin_of(begin); }
  // Returns the bytes of the records [begin, end). REQUIRES: no pieces.
  Bytes between(std::size_t begin, std::size_t end) const {
    const Bytes all = stored.owner == nullptr ? as_bytes(bytes) : stored.bytes;
    return all.subspan(begin_of(begin), size_between(begin, end));
  }
  Bytes row(std::size_t index) const { return pieces.empty() ? between(index, index + 1) : pieces[index]; }
};

// Writes one file. After a failure only the destructor may be called. Not thread-safe.
class FileEncoder {
 public:
  virtual ~FileEncoder() = default;
  FileEncoder() = default;
  FileEncoder(const FileEncoder&) = delete;
  FileEncoder& operator=(const FileEncoder&) = delete;

  // Appends the rows [begin, end). Fails as ByteSink and RecordWriter do.
  virtual Result<void> append(const RowBytes& rows, std::size_t begin, std::size_t end) = 0;
  // Writes what follows the last row. Must be called once, as the last function. Fails as append().
  virtual Result<void> finish() = 0;
  // Writes what can be written before the next rows arrive, so that pending() depends on the rows alone. Fails as
  // append().
  virtual Result<void> settle() { return {}; }
  // Returns how many bytes of the appended rows are not written yet.
  virtual std::uint64_t pending() const = 0;
  // Takes what is known by now of records that were appended but could not be encoded: all of them after finish(). The
  // file lacks these records.
  virtual std::vector<RowFailure> take_failures() { return {}; }
};

}  // namespace recordfs
