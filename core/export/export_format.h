// The formats that records are exported to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/decoding/json_writer.h"
#include "core/export/encoder.h"
#include "core/export/mixed_bytes.h"
#include "core/export/tar.h"
#include "core/formats/record_writer.h"
#include "core/store/executor.h"

namespace recordfs {

class TableColumns;
class TableWriter;
struct ArrowField;
struct EncoderOptions;

// The codec of a whole file.
enum class FileCodec : std::uint8_t { kNone, kGzip, kZstd };

struct ExportFormat {
  enum class Content : std::uint8_t {
    kRows,     // objects with the columns of records
    kMembers,  // a file for each of some parts of records
    kTable,    // a table of the columns that the first records have
    kRecords,  // their bytes
  };
  std::string_view name;                     // "jsonl"
  std::vector<std::string_view> suffixes{};  // further ones, without a dot
  std::string_view text;                     // what it is, for people
  Content content = Content::kRows;
  std::vector<FileCodec> codecs{};   // around the file
  std::string_view record_format{};  // of find_writer(); empty: not a container
  bool has_record_type = false;      // WriterOptions::record_type
  bool has_byte_form = false;        // EncoderOptions::bytes
  // Begins a table; of kRows, for scalars.
  Result<std::unique_ptr<TableWriter>> (*open_table)(ByteSink& sink, const ArrowField& root,
                                                     const EncoderOptions& options) = nullptr;
};

// Returns all of them, in the order of the help.
std::span<const ExportFormat> export_formats();

// A format, and the codec of the whole file.
struct ExportForm {
  const ExportFormat* format = nullptr;
  FileCodec codec = FileCodec::kNone;
  std::string_view suffix{};  // of the name that has it: ".jsonl.gz"
};
// Returns what the end of a name, or a whole name without a dot, stands for: "a.jsonl.gz", "jsonl.gz", "jsonl". nullopt
// if it stands for no form. `suffix` points into `name`. Thread-safe.
std::optional<ExportForm> export_form_of(std::string_view name);

struct EncoderOptions {
  std::shared_ptr<const TableColumns> columns{};  // of a table; null: none is written
  ByteForm bytes = ByteForm::kAuto;
  std::shared_ptr<MixedBytes> mixed{};  // of all files and rows of an export; the end fails as its check(); null: none
  std::vector<TarMember> members{};     // of an archive
  std::optional<std::string> key{};     // of an archive: a field; nullopt: the ordinal
  bool has_columns = true;              // of the records
  bool skips_failures = false;          // of records that cannot be encoded; otherwise those after one are not written
  // Of a table: counts its rows when they are appended; null: they need not be counted. Must outlive the encoder.
  std::uint64_t* rows = nullptr;
  // Of a container, as of WriterOptions. Ignored if the format has no place for them.
  std::string record_type{};
  std::shared_ptr<const std::string> descriptors{};
  std::vector<Attribute> metadata{};
};

// Returns the encoder of the records of files of a form.
std::shared_ptr<const RowEncoder> row_encoder(const ExportForm& form, const EncoderOptions& options);

// Begins a file of what row_encoder() makes. `sink` and `executor`, whose threads encode, must outlive the result.
// Fails with kUnsupported if the build lacks a codec or the format cannot have such columns.
Result<std::unique_ptr<FileEncoder>> open_file_encoder(const ExportForm& form, const EncoderOptions& options,
                                                       ByteSink& sink, Executor& executor);

}  // namespace recordfs
