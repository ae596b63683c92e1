#include "fusefs/commands/database_records.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/utf8.h"
#include "core/decoding/json_writer.h"
#include "fusefs/commands/database_reader.h"

namespace recordfs {
namespace {

constexpr std::size_t kLargestInLine = 1u << 20;  // bytes of a value; larger ones are written in pieces

class DatabaseRecords {
 public:
  DatabaseRecords(const DatabaseReader& reader, CommandContext& context) : reader_(reader), output_(context.output()) {}

  // Returns false if writing has to stop.
  bool write(const database::Family& family) {
    const auto keys = reader_.source().keys(family.id, {});
    while (output_.good()) {
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
    uncertain_.add(version, true);
    line_.clear();
    append_json_key_head(line_, keys.key(), reader_.has_families() ? &family : nullptr);
    line_ += ',';
    const auto value = keys.value({});
    if (!value) {
      append_failure(keys.key(), version, value.error());
    } else if (value->bytes.size() <= kLargestInLine) {
      append_json_bytes(line_, "value", "value_base64", value->bytes);
    } else {
      output_.write(line_);
      line_.clear();
      write_json_bytes("value", "value_base64", value->bytes, [&](std::string_view piece) { output_.write(piece); });
    }
    line_ += ',';
    reader_.append_json_members(line_, version);
    line_ += "}\n";
    output_.write(line_);
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
  Output& output_;
  UncertainKeys uncertain_;
  std::string line_;  // reused for each key
};

}  // namespace

void write_database_as_json(const std::string& path, CommandContext& context) {
  const auto reader = DatabaseReader::open(path, context);
  if (!reader) return;
  DatabaseRecords records(*reader, context);
  for (const database::Family& family : reader->source().families()) {
    reader->print_order(family);
    if (!records.write(family)) break;
  }
  records.finish();
}

}  // namespace recordfs
