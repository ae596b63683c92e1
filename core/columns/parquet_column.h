// Writes a column of a row group: https://parquet.apache.org/docs/file-format/data-pages/
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/codec/codec.h"
#include "core/columns/arrow_interface.h"
#include "core/columns/parquet_levels.h"

namespace recordfs {

struct ParquetCodec {
  CodecId id = CodecId::kNone;
  std::optional<int> level{};
};

// The description of a column of a row group in the footer.
struct ParquetColumnChunk {
  std::size_t begin = 0;                        // in the bytes of the row group
  std::optional<std::size_t> dictionary_end{};  // nullopt: no dictionary
  std::size_t size = 0;                         // of all pages with their headers
  std::size_t uncompressed_size = 0;
  std::int64_t levels = 0;  // values and nulls
  std::int64_t nulls = 0;
  // Encoded as PLAIN, without a length. nullopt: there is none, one is NaN, or one is longer than 64 bytes.
  std::optional<std::string> least{};
  std::optional<std::string> greatest{};
};

// Appends the pages of a leaf to the bytes of a row group: with a dictionary if that is smaller, otherwise PLAIN. Fails
// with kLimit if a page would exceed 2 GiB, and as compress(). Throws std::bad_alloc. Thread-safe.
Result<ParquetColumnChunk> append_column_chunk(std::string& out, const ParquetLeaf& leaf,
                                               std::span<const ArrowColumn> batches, const ParquetCodec& codec);

}  // namespace recordfs
