// Records, or parts of them, as files of a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/decoding/json_filter.h"
#include "core/decoding/record_decoder.h"
#include "core/output/read_files.h"
#include "core/store/record_store.h"

namespace recordfs {

// A pattern of file names: "{label}/{ordinal}.jpg". {ordinal} is that of the record, {part} the path of the part that
// is copied, with dots for slashes, and any other name in braces a field of the decoded record, as of `grep --field`. A
// brace is written twice. Immutable, but for the fields that were found. Thread-safe.
class NamePattern {
 public:
  // Fails with kUnsupported if the text is no such pattern, or does not name files below a directory.
  static Result<std::shared_ptr<const NamePattern>> parse(std::string_view text);

  bool has_ordinal() const;
  bool has_part() const;
  const FieldPaths& fields() const { return fields_; }

  struct NamedRecord {
    Bytes bytes{};
    std::string_view path_in_set{};  // of its file, which names the run of scalars
    std::uint64_t ordinal = 0;
    std::string_view part{};
  };
  // Returns the path of a file below the directory. Slashes and bytes that names should not have are percent-encoded in
  // values of fields, as in names of keys in a mount. Fails with kNotFound if a field does not have exactly one value,
  // or none that names a file, and as visit_fields().
  Result<std::string> name(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                           const NamedRecord& record) const;

 private:
  struct Ordinal {};
  struct Part {};
  using Piece = std::variant<std::string, Ordinal, Part, std::size_t>;  // a text, or the number of a field

  NamePattern(std::vector<Piece> pieces, std::vector<std::string> names);

  const std::vector<Piece> pieces_;
  const std::vector<std::string> names_;  // of fields
  const FieldPaths fields_;
};

// Writes records as files of a directory. A file gets its name when it is complete. Nothing is written through a
// symbolic link. Thread-safe.
class RecordFiles {
 public:
  struct Options {
    bool replaces = false;                         // existing files
    std::string suffix{};                          // of the names of files
    std::vector<std::string> parts{};              // paths of what is written of a record; none: the record
    std::shared_ptr<const NamePattern> pattern{};  // of names; null: by ordinals and parts
    ReadFiles read{};                              // those that the records come from, which are never replaced

    // Returns the name without a pattern: "000000042", as in the mount's records/, and the suffix. Of several parts,
    // each has its path between them: "000000042.image.encoded".
    std::string name_of(std::uint64_t ordinal, std::size_t part = 0) const;
  };

  // A record of a decoded chunk.
  struct Record {
    const RecordStore& store;
    const RecordDecoder& decoder;
    const ChunkInfo& info;
    const Chunk& chunk;
    std::string_view path_in_set{};
    std::uint64_t index = 0;    // in the chunk
    std::uint64_t ordinal = 0;  // in the set
  };

  // Why a file was not written, or several files of an unreadable record.
  struct Failure {
    std::string name{};         // of the file
    std::size_t part = 0;       // its number
    bool is_of_record = false;  // unreadable: `why` is as of RecordReader::read
    bool is_there = false;      // the file exists and must not be replaced
    bool has_no_part = false;   // the record does not have the part; `why` says nothing
    bool has_no_name = false;   // the record does not have the fields that its name is made of
    Error why;

    bool ends_copy() const { return !is_of_record && !is_there && !has_no_part && !has_no_name; }
  };

  // `options` must outlive the object.
  RecordFiles(Descriptor directory, const Options& options) : directory_(std::move(directory)), options_(options) {}

  // Writes a record, or its parts, to files. Returns what failed.
  std::vector<Failure> write(const Record& record) const;

 private:
  using WriteContent = std::function<std::optional<Failure>(int file)>;

  std::vector<Failure> write_whole(const Record& record) const;
  std::vector<Failure> write_parts(const Record& record, Bytes bytes) const;
  // Returns the name of a file, or why it has none.
  std::variant<std::string, Failure> name_of(const Record& record, Bytes bytes, std::size_t part) const;
  // Writes a file with the content that `write` writes to a descriptor. Returns nullopt on success.
  std::optional<Failure> write_file(const std::string& path, const WriteContent& write) const;
  std::optional<Failure> write_file_of(int directory, const std::string& name, const WriteContent& write) const;
  // Returns the directory of a path, which is created if it is missing. Fails with kIo.
  Result<Descriptor> directory_of(const std::string& path) const;

  const Descriptor directory_;
  const Options& options_;
};

}  // namespace recordfs
