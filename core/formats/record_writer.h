// RecordWriter: writes one file of records. The contract between formats that can be written and `export` and
// `recover`.
//
// A format that can be written has core/formats/FORMAT/writer.{h,cc}, which declare `extern const FileWriter kWriter`,
// and a line in writers.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/chunk_info.h"
#include "core/formats/container.h"

namespace recordfs {

// Where a writer puts the bytes of its file, from the first to the last.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // Appends all of `bytes`. Fails with kIo; no call may follow then.
  virtual Result<void> write(Bytes bytes) = 0;
  // Replaces bytes that were written before, from `begin` on, for formats whose first bytes depend on what follows.
  // Fails with kIo, and with kUnsupported if the bytes are not in a file.
  virtual Result<void> rewrite(Position begin, Bytes bytes);
};

// How to write a file. A member that the format has no place for is an error of FileWriter::open, not ignored, unless
// its comment says otherwise.
struct WriterOptions {
  std::string codec{};           // as ChunkInfo::codec; empty: the format's default
  std::optional<int> level{};    // of the codec; nullopt: its default
  std::uint64_t chunk_size = 0;  // decoded bytes of a chunk, a hint; 0: the format's default
  std::vector<Attribute> metadata{};
  std::optional<std::string> trailer{};  // as Container::trailer() returns it
  std::string record_type{};             // full name of the protobuf type of every record
  // A serialized google.protobuf.FileDescriptorSet; null: none.
  std::shared_ptr<const std::string> descriptors{};
  // Header and metadata as an existing file stores them, in a form that only the format knows: from FileWriter::like().
  // Replaces `metadata`, `record_type` and `descriptors`.
  std::string stored_metadata{};
  // Choices that only large enough files show, as where blocks begin, in a form that only the format knows: from
  // FileWriter::like().
  std::string stored_layout{};
};

// How many bytes a record counts in a chunk besides its own, so that chunks of empty records end. The same as in
// Riegeli's writer.
inline constexpr std::uint64_t kRecordOverhead = 8;

// Records that are ready to be appended: one chunk, or a part of one.
struct EncodedRecords {
  std::string bytes{};                // in the form of the writer that encoded them
  std::vector<std::uint64_t> ends{};  // of the records in `bytes`, if the form does not tell them
  std::uint64_t records = 0;
  std::uint64_t decoded_size = 0;  // the sum of the sizes of the records
};

// Writes the records of one file in order. After a failure only the destructor may be called. Not thread-safe, but for
// encode().
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;
  RecordWriter() = default;
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // Returns records in the form in which append() takes them: compressed, if the format compresses chunks. Callers pass
  // about chunk_size() bytes at once. Fails with kLimit if the format cannot hold a record, with kUnsupported if the
  // build lacks the codec, and with kOutOfMemory. Thread-safe.
  virtual Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const = 0;

  // Appends what encode() of this writer returned. Fails as ByteSink.
  virtual Result<void> append(const RequestContext& context, const EncodedRecords& encoded) = 0;

  // Returns whether append_stored() can append a chunk of another file of this format: this file has the same codec
  // and the same kind of chunks. Thread-safe.
  virtual bool can_append_stored(const ChunkInfo& /*chunk*/) const { return false; }
  // Appends an intact chunk of another file as it is stored, without decompression. Fails as Source and ByteSink do,
  // and with kDamage if the bytes are not those that a scan found. REQUIRES: can_append_stored(), and
  // Container::verify() of the chunk succeeded.
  virtual Result<void> append_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk);

  // Appends what a chunk of another file has besides its records, as metadata that are in effect from there on. By
  // default chunks have nothing else. Called, in the order of the file, for each chunk that a scan found and that is
  // not appended as it is stored, before its readable records are. Fails as Source and ByteSink do.
  virtual Result<void> append_attributes(const RequestContext& context, const Source& source, const ChunkInfo& chunk);

  // Writes what follows the last record. Must be called once, as the last function. Fails as ByteSink.
  virtual Result<void> finish(const RequestContext& context) = 0;

  // Returns how many decoded bytes a chunk should have at most, if each record counts kRecordOverhead more.
  virtual std::uint64_t chunk_size() const = 0;
};

// Copies the bytes [begin, end) of `source`, in pieces. Fails as Source and ByteSink do, and with kUnfinished if the
// source ends before `end`.
Result<void> copy_stored(const RequestContext& context, const Source& source, Position begin, Position end,
                         ByteSink& sink);

// Gathers single records for a writer. Not thread-safe.
class RecordGatherer {
 public:
  // `writer` must outlive the object.
  explicit RecordGatherer(RecordWriter& writer) : writer_(writer) {}

  // Appends a record. The writer gets it when a chunk is complete. Fails as RecordWriter::encode() and append().
  Result<void> add(const RequestContext& context, Bytes record);
  // Ends the chunk. Must be called before a function of the writer is. Fails as add().
  Result<void> flush(const RequestContext& context);

 private:
  RecordWriter& writer_;
  std::string bytes_;
  std::vector<std::uint64_t> ends_;  // of the records in `bytes_`
};

// How a format stores a record, if an uncompressed file is nothing but its records, one after another.
struct RecordFrame {
  std::size_t before = 0;  // bytes of the frame before the record
  std::size_t after = 0;   // and after it
  // Appends a record with its frame: the bytes that each intact file of the format has for it. Throws std::bad_alloc.
  // Thread-safe.
  void (*append)(std::string& out, Bytes record) = nullptr;
};

// How files of a format are written.
struct FileWriter {
  std::string_view format;  // Format::name
  // Begins a file. Writes nothing before the first record or finish(). `sink` must outlive the writer. Fails with
  // kUnsupported if the format or the build cannot do what the options say.
  Result<std::unique_ptr<RecordWriter>> (*open)(const RequestContext& context, ByteSink& sink,
                                                const WriterOptions& options);
  // Returns the options that write a file like `container`, which `source` has the bytes of: codec, chunk size,
  // metadata, trailer. What cannot be read has the default; Container reports it as damage. Fails with kUnsupported if
  // no such file can be written, and with errors that may pass, as kIo. REQUIRES: the container's format is this one.
  Result<WriterOptions> (*like)(const RequestContext& context, const Container& container, const Source& source);
  std::optional<RecordFrame> frame{};  // nullopt: a file has more than records in frames
};

// Returns how files of the format are written; null if they cannot be written.
const FileWriter* find_writer(std::string_view format);

// Returns all formats that can be written.
std::span<const FileWriter> file_writers();

}  // namespace recordfs
