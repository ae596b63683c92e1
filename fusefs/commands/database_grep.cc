#include "fusefs/commands/database_grep.h"

#include <unistd.h>

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
        const auto value = reader_.value_of(keys);
        take({family, keys.version(), as_text(keys.key()), value});
        return selected_ < most_;
      };
      static_cast<void>(reader_.each_key(families, {}, {}, select));
    }
    reader_.finish();
    return selected_;
  }

 private:
  void take(const ReadKey& read) {
    // A value that cannot be read might match.
    if (options_.inverted && !read.value) return;
    const bool matches = matcher_.matches(read.key) || (read.value && matcher_.matches(read.text()));
    if (matches == options_.inverted) return;
    ++selected_;
    if (options_.show() > Show::kMatches && !options_.json) return;
    if (options_.json) {
      write_json(read);
    } else if (options_.show() == Show::kMatches) {
      write_matches(read, read.key);
      write_matches(read, read.text());
    } else {
      write_line(read, read.text());
    }
    if (is_terminal_) output_.flush();
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
    KeyLine line{.key = as_bytes(read.key), .family = read.family, .version = read.version, .database = reader_.path()};
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
    for (const Match& match : matches_in(read.key)) write_match(json, match, read.key, true, "key");
    for (const Match& match : matches_in(read.text())) write_match(json, match, read.text(), true, "value");
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
