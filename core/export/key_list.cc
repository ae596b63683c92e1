#include "core/export/key_list.h"

#include <string_view>
#include <utility>
#include <vector>

#include "core/database/key_text.h"

namespace recordfs {
namespace {

void write_json(DatabaseReader& reader, const KeyListOptions& options, const database::Family& family,
                const database::KeyIterator& keys) {
  database::Version version = keys.version();
  KeyLine line{.key = keys.key(), .family = family, .version = version, .form = options.json.bytes};
  if (!options.json.has_record) return reader.write_json(line);
  const auto value = reader.value_of(keys);
  if (!value) {
    if (options.skips_unreadable) return;
    line.failure = &value.error();
    return reader.write_json(line);
  }
  line.value = value->bytes;
  version.size = value->bytes.size();
  Result<std::vector<database::Column>> columns = std::vector<database::Column>();
  if (may_have_columns(version.operation)) columns = keys.columns({});
  if (!columns) reader.report_failure(line.key, columns.error());
  if (columns) line.columns = &*columns;
  reader.write_json(line);
}

}  // namespace

void write_keys(DatabaseReader& reader, const KeyListOptions& options, TextOutput& output) {
  using KeyForm = KeyListOptions::Form;
  const auto families = reader.families(options.family, options.is_of_all_families);
  if (families.empty()) return;
  std::uint64_t left = options.limit;
  bool has_written = false;
  const auto write = [&](const database::Family& family, const database::KeyIterator& keys) {
    if (options.form == KeyForm::kJson) {
      write_json(reader, options, family, keys);
    } else if (options.form == KeyForm::kNull) {
      output.write(keys.key());
      output.write(std::string_view("\0", 1));
    } else {
      output.write(escaped_key(keys.key()) + "\n");
    }
    // Shows the first key without delay.
    if (!std::exchange(has_written, true)) output.flush();
    return --left > 0;
  };
  if (left > 0) static_cast<void>(reader.each_key(families, options.range, options.at, write));
  reader.finish();
}

}  // namespace recordfs
