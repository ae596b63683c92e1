// RocksDB's own merge operators, by the names in its tables and OPTIONS files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs::database {

// Computes values from merge operands. Any thread.
class MergeOperator {
 public:
  // Returns the operator that an OPTIONS file names: "UInt64AddOperator", or "{id=StringAppendOperator;delimiter=,;}".
  // `writes_delimiters`: the version of RocksDB that wrote the name would add a delimiter that is not empty. nullopt:
  // an operator that recordfs does not have.
  static std::optional<MergeOperator> of(std::string_view text, bool writes_delimiters);

  // Returns the result of a merge: `existing` is the value before the operands, which are the oldest first; null: there
  // is none. Fails with kUnsupported if the result depends on a delimiter that is not known, with kLimit if it has more
  // than `limit` bytes, and with kOutOfMemory. REQUIRES: !operands.empty().
  Result<Buffer> merge(const RequestContext& context, const Bytes* existing, std::span<const Bytes> operands,
                       std::uint64_t limit) const;

 private:
  enum class Kind : std::uint8_t { kAppend, kAdd, kMax, kPut };
  explicit MergeOperator(Kind kind) : kind_(kind) {}

  Result<Buffer> append(const RequestContext& context, const Bytes* existing, std::span<const Bytes> operands,
                        std::uint64_t limit) const;

  Kind kind_;
  std::optional<std::string> delimiter_{};  // of kAppend; nullopt: not known
};

// Returns the name of the operator in a text of an OPTIONS file.
std::string_view name_of_merge_operator(std::string_view text);

}  // namespace recordfs::database
