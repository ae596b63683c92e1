#include "fusefs/commands/database_records.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/utf8.h"
#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

constexpr std::size_t kLargestInLine = 1u << 20;  // bytes of a value; larger ones are written in pieces

class DatabaseRecords {
 public:
  DatabaseRecords(const DatabaseReader& reader, const DatabaseRecordsOptions& options, CommandContext& context)
      : reader_(reader), options_(options), output_(context.output()), left_(options.keys.limit) {}

  // Returns false if writing has to stop.
  bool write(const database::Family& family, database::KeyRange range) {
    const auto keys = reader_.source().keys(family.id, std::move(range), options_.view.at);
    for (; left_ > 0 && output_.good(); --left_) {
      const auto has_key = keys->next({});
      if (!has_key) reader_.print_failure(has_key.error());
      if (!has_key) return false;
      if (!*has_key) return true;
      write(*keys, family);
    }
    return false;
  }

  void finish() {
    output_.flush();
    reader_.report_problems();
    uncertain_.print(reader_);
  }

 private:
  void write(const database::KeyIterator& keys, const database::Family& family) {
    const database::Version& version = keys.version();
    uncertain_.add(version);
    line_.clear();
    append_json_key_head(line_, keys.key(), reader_.has_families() ? &family : nullptr, options_.json.bytes);
    line_ += ',';
    std::optional<std::uint64_t> size;
    if (options_.json.has_record) {
      const auto value = keys.value({});
      if (!value) append_failure(keys.key(), version, value.error());
      if (!value && options_.skips_unreadable) return;
      if (value) size = append_value(value->bytes);
      if (value && may_have_columns(version.operation)) append_columns(keys);
      line_ += ',';
    }
    database::Version shown = version;
    if (size) shown.size = size;
    reader_.append_json_members(line_, shown);
    line_ += "}\n";
    output_.write(line_);
  }

  // Returns the size of the value. Large values are written at once.
  std::uint64_t append_value(Bytes value) {
    const auto take = [this](std::string_view piece) { write(piece); };
    if (value.size() <= kLargestInLine) {
      append_json_bytes(line_, "value", "value_base64", value, options_.json.bytes);
    } else {
      write_json_bytes("value", "value_base64", value, take, options_.json.bytes);
    }
    return value.size();
  }

  void append_columns(const database::KeyIterator& keys) {
    const auto columns = keys.columns({});
    if (!columns) return reader_.print_failure(keys.key(), columns.error());
    if (columns->empty()) return;
    line_ += ',';
    write_json_columns(
        *columns, [this](std::string_view piece) { write(piece); }, options_.json.bytes);
  }

  void write(std::string_view piece) {
    line_ += piece;
    if (line_.size() <= kLargestInLine) return;
    output_.write(line_);
    line_.clear();
  }

  void append_failure(Bytes key, const database::Version& version, const Error& error) {
    line_ += "\"error\":";
    append_json_string(line_, printable(error.detail));
    // These are counted. There may be one for each key.
    if (!uncertain_.add_unreadable(version, error)) reader_.print_failure(key, error);
  }

  const DatabaseReader& reader_;
  const DatabaseRecordsOptions& options_;
  Output& output_;
  std::uint64_t left_;  // keys that may be written
  UncertainKeys uncertain_;
  std::string line_;  // reused for each key
};

}  // namespace

void write_database_as_json(const DatabaseReader& reader, const DatabaseRecordsOptions& options,
                            CommandContext& context) {
  const auto range = options.keys.range();
  if (!range) return reader.print("--encoded: not an escaped key", kExitWrongUse);
  const auto families = reader.families(options.view.family);
  if (!families) return reader.print(families.error().detail, CommandContext::status_of(families.error()));
  DatabaseRecords records(reader, options, context);
  for (const database::Family& family : *families) {
    if (!records.write(family, *range)) break;
  }
  records.finish();
}

}  // namespace recordfs
