// The columns of the records of a data set, and how records become rows: protobuf messages of a known type,
// tensorflow.Example, records that a format or JSON describes, or the scalars of events.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/columns/column_builder.h"
#include "core/columns/column_selection.h"
#include "core/columns/feature_columns.h"
#include "core/columns/scalar_rows.h"
#include "core/columns/value_columns.h"
#include "core/decoding/descriptor_set.h"
#include "core/decoding/message_schema.h"
#include "core/formats/field_projection.h"
#include "core/store/record_store.h"

namespace recordfs {

// The type of all records of a shard.
struct RecordType {
  std::string name{};
  std::shared_ptr<const std::string> descriptors{};

  bool operator==(const RecordType& other) const;
};

// Returns the first chunk with records; nullopt if the first few steps of the scan find none. Waits. Fails as
// ChunkIndex::first_with_records(). Thread-safe.
Result<std::optional<ChunkInfo>> first_with_records(const RequestContext& context, const RecordStore& store);

// Returns the type that all records of a store have: the user's, or else the container's; nullopt if neither states
// one. The descriptors are the user's for a type of the user, or else the container's, if it has some. May read the
// first chunk. Fails as Metadata::record_type() and Metadata::descriptors(). Thread-safe.
Result<std::optional<RecordType>> stated_type(const RequestContext& context, const RecordStore& store,
                                              const UserTypes& types);

// A record that defines columns.
struct DefiningRecord {
  std::size_t shard = 0;
  std::string bytes{};
};

// The containers whose records become rows of one schema, in order. One container is a set of one shard.
struct RowSources {
  std::size_t shards = 1;
  // Opens a shard, on the calling thread. Fails as open_container does, and as the file does.
  std::function<Result<std::shared_ptr<const RecordStore>>(const RequestContext& context, std::size_t shard)> open{};
  UserTypes types{};
  Limits limits{};
  ColumnSelection selection{};
  bool lists = false;  // each feature of an Example is a list; otherwise only those of which the first records need one
  bool allows_nul = false;                               // in names of features, which tables cannot have
  std::function<std::string(std::size_t shard)> path{};  // of a shard; null: unknown
  // Returns the first records, which define the columns if no type does. Called at most twice, on the calling thread.
  std::function<Result<std::vector<DefiningRecord>>(const RequestContext& context)> first_records{};
  // Passes the records after those to `take`, until it fails, if they define the columns too; empty: they do not.
  using TakeRecord = std::function<Result<void>(std::size_t shard, Bytes record)>;
  std::function<Result<void>(const RequestContext& context, const TakeRecord& take)> later_records{};
  // Does so with the first records of shards without first_records() whose metadata differs from that of all shards
  // before, because it says how the format reads the records; empty: they define no columns.
  std::function<Result<void>(const RequestContext& context, const TakeRecord& take)> records_of_others{};
};

class RowSchema;

// Returns whether a scalar of a run becomes a row. Thread-safe.
using SelectScalar = std::function<bool(std::string_view run, const ScalarRow& scalar)>;

// Which rows a shard's scalars become.
struct ScalarRows {
  ScalarSource source{};
  std::string run{};
  SelectScalar selects{};  // empty: all
};

// The parts of a record that are no rows although others are.
struct LeftOut {
  std::vector<Error> errors{};  // why scalars cannot be rows
  std::uint64_t values = 0;     // that are no scalars: several numbers, or none
};

// Appends the records of one shard as rows. Copyable. Functions are thread-safe.
class RowDecoder {
 public:
  // Appends a row, or of scalars the rows of the record, and sets `left_out` to the others of it; null: then the record
  // fails if a scalar cannot be a row. `builder` is of the schema's root(). Fails with kUnsupported if the record does
  // not fit the schema or is not valid, and with kLimit; the builder must then be truncated. Throws std::bad_alloc.
  Result<void> append(ColumnBuilder& builder, Bytes record, LeftOut* left_out = nullptr) const;

 private:
  friend class RowSchema;
  Result<void> append_any(ColumnBuilder& builder, Bytes record, LeftOut* left_out) const;
  Result<void> append_scalars(ColumnBuilder& builder, Bytes record, LeftOut* left_out) const;

  RowDecoder(const RowSchema& schema, std::shared_ptr<const RecordStore> store, ScalarRows scalars,
             std::optional<Error> refusal)
      : schema_(&schema), store_(std::move(store)), scalars_(std::move(scalars)), refusal_(std::move(refusal)) {}

  const RowSchema* schema_;
  std::shared_ptr<const RecordStore> store_;  // of records that the format reads; otherwise null
  ScalarRows scalars_;                        // of a schema of scalars
  std::optional<Error> refusal_;              // of all records, in a shard that has none yet
};

// Immutable. Functions are thread-safe.
class RowSchema {
 public:
  // Returns the schema of the user's type, or of the type that the first shard states which has records and no damaged
  // metadata; if there is no such shard, the first stated type. Without one, or if it is tensorflow.Example, the
  // columns are those that have values in the first records. The first of these that has columns is one of the
  // following, and so must be the records that have rows: Examples, whose columns are their features; records with a
  // Value that is an object, as the format of their shard reads them; JSON objects. A feature is a list if one of the
  // first records has several values of it, or an empty list. A record without such a feature has null and no empty
  // list. Only selected columns are looked at, and a value of another column is no error. Fails with kNotFound if no
  // record has columns, with kLimit, as ColumnSelection::check() and ValueColumns::finish(), and as the functions of
  // `sources`.
  static Result<std::shared_ptr<const RowSchema>> find(const RequestContext& context, const RowSources& sources);

  // Returns the schema of the scalars in event files of TensorBoard and in runs of wandb and SwanLab: run, step,
  // wall_time, tag, value. Null if the records of the first readable shard are of another type. If no shard states
  // one, or has a record, the names of the files tell. Fails as find(). Has all columns, whether selected or not.
  static Result<std::shared_ptr<const RowSchema>> find_scalars(const RequestContext& context,
                                                               const RowSources& sources);

  // The struct "decoded": its fields are the columns, those of a message by ascending number. A column that is not
  // selected may be among them.
  const MessageField& root() const { return root_; }

  // Returns whether the records are Examples.
  bool has_features() const { return features_.has_value(); }
  // As of FeatureColumns; true for other records.
  bool is_list(std::string_view feature) const { return !features_ || features_->is_list(feature); }
  // Returns the name of the column that a feature is in, as the selection has it; nullopt if it is not selected.
  std::optional<std::string_view> column_of(std::string_view feature) const;
  // Adds the fields of a record that the columns come from. Returns false if all may be needed, because the records are
  // not messages of one type.
  bool add_wanted_fields(FieldProjection& wanted) const;

  // Returns the decoder of a shard's records. `path` is the shard's, after which scalars name their run (run_of). Fails
  // with kUnsupported if the records have another type, with kDamage if damaged metadata may state it, and as
  // Metadata's functions. A shard without records has any type. This must outlive the decoder.
  Result<RowDecoder> decoder(const RequestContext& context, std::shared_ptr<const RecordStore> store,
                             std::string_view path = {}, SelectScalar selects = {}) const;
  // Returns whether the rows are those of scalars.
  bool has_scalars() const { return has_scalars_; }

 private:
  friend class RowDecoder;
  // Whose first records have values.
  enum class ValueKind : std::uint8_t { kFormat, kJson };

  using DefiningRecords = std::vector<DefiningRecord>;
  class FormatsOfShards;
  Result<void> add_first(const RequestContext& context, const RowSources& sources, const DefiningRecords& records);
  Result<void> add_features(const RequestContext& context, const RowSources& sources, const DefiningRecords& records);
  Result<void> add_paths_of_features(FormatsOfShards& formats, const DefiningRecords& records, Error& why) const;
  Result<void> begin_features(const RowSources& sources);
  Result<void> finish_features(const RowSources& sources, std::size_t records);
  static Result<void> add_all(const RequestContext& context, const RowSources& sources, const DefiningRecords& records,
                              const RowSources::TakeRecord& add);
  static std::optional<ValueKind> kind_of(const RecordSchema& format, Bytes record);
  Result<void> add_value(const RecordSchema& format, Bytes record, Result<void>& unreadable);
  Result<void> append_value(ColumnBuilder& builder, const RecordSchema& format, Bytes record) const;

  Result<void> select_fields(std::vector<MessageField> fields);

  UserTypes user_types_{};
  Limits limits_{};
  ColumnSelection selection_{};
  MessageField root_{};
  bool has_scalars_ = false;
  std::optional<ValueKind> values_{};            // of records without a type
  std::optional<ValueColumns> value_columns_{};  // of these
  std::optional<RecordType> type_{};             // of messages
  std::optional<FeatureColumns> features_{};     // of Examples
};

}  // namespace recordfs
