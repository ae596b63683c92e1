// TableWriter: writes one file of columns. The formats are in arrow_ipc.h and parquet.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/codec/codec.h"
#include "core/columns/arrow_interface.h"
#include "core/formats/record_writer.h"

namespace recordfs {

struct TableOptions {
  std::optional<CodecId> codec{};  // of the values; nullopt: the format's default
  std::optional<int> level{};      // of the codec; nullopt: its default
};

// Rows in the form in which they are appended.
class EncodedRows {
 public:
  virtual ~EncodedRows() = default;
  EncodedRows() = default;
  EncodedRows(const EncodedRows&) = delete;
  EncodedRows& operator=(const EncodedRows&) = delete;

  std::string bytes{};
  std::uint64_t rows = 0;
};

// Writes the rows of one file in order. The bytes depend only on the rows, on how they are divided into calls of
// encode(), and on the version of the codec's library. After a failure only the destructor may be called. Functions
// throw std::bad_alloc. Not thread-safe, but for encode().
class TableWriter {
 public:
  virtual ~TableWriter() = default;
  TableWriter() = default;
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  // Encodes batches of rows that are read together: one row group of Parquet, or a record batch of Arrow for each.
  // Fails with kLimit if a value or the batches are too large for the format. Thread-safe. REQUIRES: the batches have
  // the columns that the writer was opened with.
  virtual Result<std::unique_ptr<const EncodedRows>> encode(std::span<const ArrowColumn> batches) const = 0;

  // Appends what encode() of this writer returned. Fails as ByteSink.
  virtual Result<void> append(const EncodedRows& encoded) = 0;

  // Writes what follows the last row. Must be called once, as the last function. Fails as ByteSink, and with kLimit if
  // the description of the file is too large for the format.
  virtual Result<void> finish() = 0;
};

}  // namespace recordfs
