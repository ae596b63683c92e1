#include "fusefs/commands/database_grep.h"

#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/base/utf8.h"
#include "core/database/key_text.h"

namespace recordfs {
namespace {

// A key that was read. Valid until the iterator moves.
struct ReadKey {
  const database::Family& family;
  const database::Version& version;
  std::string_view key;
  const Result<Slice>& value;
  const std::vector<database::Column>& columns;  // of an entity, all; otherwise none

  std::string_view text() const { return value ? as_text(value->bytes) : std::string_view(); }
};

class DatabaseGrep {
 public:
  DatabaseGrep(DatabaseReader& reader, const GrepOptions& options, const RecordMatcher& matcher, std::uint64_t most,
               GrepPrinter& printer, Output& output)
      : reader_(reader),
        options_(options),
        matcher_(matcher),
        most_(most),
        printer_(printer),
        prefix_(printer.prefix(reader.path())),
        output_(output) {}

  // Returns how many keys were selected.
  std::uint64_t run() {
    const auto families = reader_.families({}, true);
    if (most_ > 0) {
      const auto select = [&](const database::Family& family, const database::KeyIterator& keys) {
        auto value = reader_.value_of(keys);
        auto columns = columns_of(keys, value);
        if (!columns) {
          reader_.report_unreadable(keys, columns.error());
          value = columns.error();
          columns = std::vector<database::Column>();
        }
        take({family, keys.version(), as_text(keys.key()), value, *columns});
        return selected_ < most_;
      };
      static_cast<void>(reader_.each_key(families, {}, {}, select));
    }
    reader_.finish();
    return selected_;
  }

 private:
  static Result<std::vector<database::Column>> columns_of(const database::KeyIterator& keys,
                                                          const Result<Slice>& value) {
    const bool has_none = !value || !may_have_columns(keys.version().operation);
    return has_none ? std::vector<database::Column>() : keys.columns({});
  }

  // Calls `take` for each text that is searched, with the member of the line of JSON that has it.
  template <typename Take>
  static void each_text(const ReadKey& read, const Take& take) {
    take(read.key, "key");
    if (read.value) take(read.text(), "value");
    for (const database::Column& column : read.columns) {
      if (column.name.empty()) continue;  // the value
      take(std::string_view(column.name), "columns");
      take(as_text(column.value.bytes), "columns");
    }
  }

  bool matches(const ReadKey& read) const {
    bool is_match = false;
    each_text(read, [&](std::string_view text, std::string_view) { is_match = is_match || matcher_.matches(text); });
    return is_match;
  }

  void take(const ReadKey& read) {
    // A value that cannot be read might match.
    if (options_.inverted && !read.value) return;
    if (matches(read) == options_.inverted) return;
    ++selected_;
    if (options_.show() > Show::kMatches && !options_.json) return;
    if (options_.json) {
      write_json(read);
    } else if (options_.show() == Show::kMatches) {
      each_text(read, [&](std::string_view text, std::string_view) { write_matches(read, text); });
    } else {
      write_line(read, line_text(read));
    }
    if (is_terminal_) output_.flush();
  }

  // Returns the value, and NAME=VALUE of each other column after a tab.
  static std::string line_text(const ReadKey& read) {
    std::string text(read.text());
    for (const database::Column& column : read.columns) {
      if (column.name.empty()) continue;
      text += '\t' + column.name + '=';
      text += as_text(column.value.bytes);
    }
    return text;
  }

  std::vector<Match> matches_in(std::string_view text) const {
    return options_.inverted ? std::vector<Match>() : matcher_.find_all(text);
  }

  void write_matches(const ReadKey& read, std::string_view text) {
    for (const Match& match : matches_in(text)) write_line(read, text.substr(match.begin, match.size));
  }

  void write_line(const ReadKey& read, std::string_view text) {
    output_.write(prefix_);
    if (reader_.has_families()) output_.write(printable(name_of(read.family)) + "\t");
    output_.write(escaped_key(as_bytes(read.key)) + "\t");
    printer_.write_text(as_bytes(text));
    printer_.write_end(text.empty() ? std::byte{} : as_bytes(text).back());
  }

  void write_json(const ReadKey& read) {
    KeyLine line{.key = as_bytes(read.key),
                 .family = read.family,
                 .version = read.version,
                 .columns = &read.columns,
                 .database = reader_.path()};
    if (!options_.inverted) line.write_after_key = [&](JsonWriter& json) { write_all_matches(read, json); };
    if (read.value) {
      line.value = read.value->bytes;
    } else {
      line.failure = &read.value.error();
    }
    reader_.write_json(line);
  }

  void write_all_matches(const ReadKey& read, JsonWriter& json) const {
    json.name("matches");
    json.begin_list();
    each_text(read, [&](std::string_view text, std::string_view where) {
      for (const Match& match : matches_in(text)) write_match(json, match, text, true, where);
    });
    json.end_list();
  }

  DatabaseReader& reader_;
  const GrepOptions& options_;
  const RecordMatcher& matcher_;
  const std::uint64_t most_;
  GrepPrinter& printer_;
  const std::string prefix_;
  Output& output_;
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::uint64_t selected_ = 0;
};

}  // namespace

std::uint64_t grep_database(DatabaseReader& reader, const GrepOptions& options, const RecordMatcher& matcher,
                            std::uint64_t most, GrepPrinter& printer, Output& output) {
  return DatabaseGrep(reader, options, matcher, most, printer, output).run();
}

}  // namespace recordfs
