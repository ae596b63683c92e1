#include "fusefs/commands/database_records.h"

#include <cstddef>
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
    uncertain_.add(version, options_.json.has_record);
    line_.clear();
    append_json_key_head(line_, keys.key(), reader_.has_families() ? &family : nullptr, options_.json.bytes);
    line_ += ',';
    if (options_.json.has_record) {
      const auto value = keys.value({});
      if (!value) append_failure(keys.key(), version, value.error());
      if (!value && options_.skips_unreadable) return;
      if (value) write_value(value->bytes);
      line_ += ',';
    }
    reader_.append_json_members(line_, version);
    line_ += "}\n";
    output_.write(line_);
  }

  void write_value(Bytes value) {
    if (value.size() <= kLargestInLine) {
      return append_json_bytes(line_, "value", "value_base64", value, options_.json.bytes);
    }
    output_.write(line_);
    line_.clear();
    write_json_bytes(
        "value", "value_base64", value, [&](std::string_view piece) { output_.write(piece); }, options_.json.bytes);
  }

  void append_failure(Bytes key, const database::Version& version, const Error& error) {
    line_ += "\"error\":";
    append_json_string(line_, printable(error.detail));
    // These are counted. There may be one for each key.
    const bool is_counted =
        version.operation == database::Operation::kMerge || version.operation == database::Operation::kUnknown;
    if (!is_counted) reader_.print_failure(key, error);
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
