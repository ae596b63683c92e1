// How the records of a data set become rows of one type: protobuf messages of a known type, or tensorflow.Example.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/decoding/message_schema.h"
#include "core/formats/tensorflow_example.h"
#include "core/python/column_builder.h"
#include "core/python/opened_set.h"

namespace recordfs::python {

// The type of all records of a shard.
struct RecordType {
  std::string name{};
  std::shared_ptr<const std::string> descriptors{};

  bool operator==(const RecordType& other) const;
};

// Immutable. Functions are thread-safe.
class RowSchema {
 public:
  // Returns the schema of the type that was given when the data set was opened, or that its first readable shard
  // states. If there is none, or if it is tensorflow.Example, the records must be Examples: the columns are the
  // features with values in `first_records()`, which is called at most once. Fails with kUnsupported for other records.
  static Result<std::shared_ptr<const RowSchema>> find(const RequestContext& context, const OpenedSet& set,
                                                       const std::function<std::vector<std::string>()>& first_records);

  // The struct "decoded".
  const MessageField& root() const { return root_; }

  // Fails with kUnsupported if the records of a shard have another type.
  Result<void> check_shard(const RequestContext& context, const OpenedSet& set, std::size_t shard) const;

  // Appends a row. `builder` is of root(). Fails with kDamage if the record is not of this type, and with kLimit; the
  // builder must then be truncated. Throws std::bad_alloc.
  Result<void> append(ColumnBuilder& builder, Bytes record) const;

 private:
  struct Feature {
    std::size_t column = 0;
    tensorflow::FeatureKind kind{};
  };

  Result<void> add_features(const std::vector<std::string>& records);
  Result<void> append_example(ColumnBuilder& builder, Bytes record) const;

  Limits limits_{};
  MessageField root_{};
  std::optional<RecordType> type_{};                        // of messages
  std::map<std::string, Feature, std::less<>> features_{};  // of Examples
};

}  // namespace recordfs::python
