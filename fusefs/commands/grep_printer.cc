#include "fusefs/commands/grep_printer.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kLargestWrite = 1u << 20;  // bytes of a record per write

// The defaults of GREP_COLORS in grep(1).
constexpr std::string_view kMatchColor = "01;31";
constexpr std::string_view kNameColor = "35";
constexpr std::string_view kOrdinalColor = "32";
constexpr std::string_view kSeparatorColor = "36";
constexpr std::string_view kColorEnd = "\33[m\33[K";

std::string color_begin(std::string_view color) { return fmt::format("\33[{}m\33[K", color); }

// Returns the text without the beginning of a character that its end may have cut.
std::string_view whole_characters(std::string_view text) {
  for (std::size_t cut = 1; cut < 4 && cut < text.size(); ++cut) {
    const std::string_view end = text.substr(text.size() - cut);
    const bool is_inside = (static_cast<unsigned char>(end.front()) & 0xC0) == 0x80;
    if (!is_inside) return utf8_character(end) == 0 ? text.substr(0, text.size() - cut) : text;
  }
  return text;
}

std::uint64_t clamped_sum(std::uint64_t one, std::uint64_t other) {
  return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

}  // namespace

GrepPrinter::GrepPrinter(const GrepOptions& options, CommandContext& context)
    : options_(options),
      show_(options.show()),
      context_(context),
      output_(context.output()),
      is_terminal_(::isatty(STDOUT_FILENO) == 1),
      has_colors_(options.has_colors()) {}

void GrepPrinter::begin(const SetMember& member, const std::string& name) {
  member_ = &member;
  name_ = &name;
  recent_.clear();
  is_adjacent_ = false;
  next_ = 0;
  end_of_context_ = 0;
}

void GrepPrinter::show(const MatchedChunk& found, std::size_t selected) {
  for (std::size_t place = 0; place < selected && output_.good(); ++place) {
    if (options_.has_context()) show_around(found, found.first_ordinal + found.records[place].index);
    show_selected(found, place);
  }
  if (!options_.has_context() || !found.chunk) return;
  show_context(found, next_, end_of_context_);
  if (options_.before > 0) remember(found);
}

// Writes the records before a selected one that were not written: those after the previous selected one, and those
// before this one.
void GrepPrinter::show_around(const MatchedChunk& found, std::uint64_t ordinal) {
  show_context(found, next_, std::min(end_of_context_, ordinal));
  const std::uint64_t begin = std::max(next_, ordinal - std::min(ordinal, options_.before));
  if (has_shown_ && (begin > next_ || !is_adjacent_)) output_.write(colored(kSeparatorColor, "--") + "\n");
  for (const PassedChunk& passed : recent_) show_passed(passed, begin, ordinal);
  show_context(found, begin, ordinal);
  is_adjacent_ = true;
  next_ = ordinal + 1;
  end_of_context_ = clamped_sum(next_, options_.after);
}

// Writes the records of a chunk with these ordinals in the file.
void GrepPrinter::show_context(const MatchedChunk& found, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first = found.first_ordinal;
  end = std::min(end, clamped_sum(first, found.chunk->layout().records()));
  for (std::uint64_t ordinal = std::max(begin, first); ordinal < end && output_.good(); ++ordinal) {
    write_prefix(found, ordinal - first, '-');
    write_record(found, ordinal - first, {});
    next_ = ordinal + 1;
  }
}

void GrepPrinter::show_passed(const PassedChunk& passed, std::uint64_t begin, std::uint64_t end) {
  if (passed.ordinals.end <= begin) return;
  auto chunk = member_->store->chunks().get_alone({}, passed.info);
  if (!chunk) return context_.report(*member_->store, chunk.error());
  show_context({.chunk = std::move(*chunk), .first_ordinal = passed.ordinals.begin}, begin, end);
}

void GrepPrinter::remember(const MatchedChunk& found) {
  const std::uint64_t end = found.first_ordinal + found.chunk->layout().records();
  recent_.push_back({*found.info, {.begin = found.first_ordinal, .end = end}});
  while (recent_.front().ordinals.end <= end - std::min(end, options_.before) && recent_.size() > 1)
    recent_.pop_front();
}

void GrepPrinter::show_selected(const MatchedChunk& found, std::size_t place) {
  if (options_.json) return output_.write(found.lines[place]);
  if (!found.chunk && !found.batch && found.lines.empty()) return;
  has_shown_ = true;
  const FoundRecord& record = found.records[place];
  if (show_ == Show::kOrdinals) return write_prefix(found, record.index, '\n');
  if (show_ == Show::kMatches) return show_matches(found, record);
  write_prefix(found, record.index, ':');
  if (found.lines.empty())
    return write_record(found, record.index, has_colors_ ? record.matches : std::vector<Match>());
  std::string_view line = found.lines[place];
  if (options_.zero_after_record) line.remove_suffix(1);
  output_.write(line);
  if (options_.zero_after_record) write_end({});
}

void GrepPrinter::show_matches(const MatchedChunk& found, const FoundRecord& record) {
  for (const Match& match : record.matches) {
    write_prefix(found, record.index, ':');
    write_colored(kMatchColor, [&] {
      if (options_.decoded) {
        write_text(as_bytes(std::string_view(record.text).substr(match.begin, match.size)));
      } else {
        write_bytes(found, record.index, match.begin, match.size);
      }
    });
    write_end({});
  }
}

void GrepPrinter::write_record(const MatchedChunk& found, std::uint64_t index, const std::vector<Match>& matches) {
  const std::uint64_t size = found.size_of(index);
  std::uint64_t at = 0;
  std::byte last{};
  const auto write_until = [&](std::uint64_t end) {
    if (end > at) last = write_bytes(found, index, at, end - at);
    at = end;
  };
  for (const Match& match : matches) {
    write_until(match.begin);
    write_colored(kMatchColor, [&] { write_until(match.begin + match.size); });
  }
  write_until(size);
  write_end(last);
}

// A record that ends with a newline needs no other.
void GrepPrinter::write_end(std::byte last) {
  if (options_.zero_after_record) return output_.write(std::string_view("\0", 1));
  if (last != std::byte{'\n'}) output_.write("\n");
}

void GrepPrinter::write_text(Bytes bytes) {
  if (!is_terminal_) return output_.write(bytes);
  output_.write(printable_lines(as_text(bytes)));
}

// Returns the last byte, or 0 if there is none.
std::byte GrepPrinter::write_bytes(const MatchedChunk& found, std::uint64_t index, std::uint64_t at,
                                   std::uint64_t size) {
  if (found.batch) {
    const Bytes record = found.batch->content.records[index];
    const Bytes bytes = record.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
    write_text(bytes);
    return bytes.empty() ? std::byte{} : bytes.back();
  }
  std::byte last{};
  const std::uint64_t end = at + size;
  while (at < end && output_.good()) {
    const auto piece = member_->store->records().read({}, *found.chunk, index, at, std::min(kLargestWrite, end - at));
    if (!piece) {
      context_.report(*member_->store, piece.error());
      break;
    }
    if (piece->bytes.empty()) break;
    const bool may_be_cut = is_terminal_ && at + piece->bytes.size() < end;
    const Bytes bytes = may_be_cut ? as_bytes(whole_characters(as_text(piece->bytes))) : piece->bytes;
    write_text(bytes);
    last = bytes.back();
    at += bytes.size();
  }
  return last;
}

void GrepPrinter::write_prefix(const MatchedChunk& found, std::uint64_t index, char after) {
  const std::string separator(1, after);
  output_.write(prefix(*name_, after == '\n' ? ':' : after));
  const std::uint64_t ordinal = member_->first_ordinal + found.first_ordinal + index;
  output_.write(colored(kOrdinalColor, fmt::format_int(ordinal).str()));
  output_.write(after == '\n' ? separator : colored(kSeparatorColor, separator));
}

void GrepPrinter::write_file(const std::string& path) {
  output_.write(colored(kNameColor, is_terminal_ ? printable(path) : path));
  output_.write(options_.zero_after_name ? std::string_view("\0", 1) : "\n");
}

void GrepPrinter::write_count(const std::string& name, std::uint64_t selected) {
  output_.write(fmt::format("{}{}\n", prefix(name), selected));
}

std::string GrepPrinter::prefix(const std::string& name, char after) const {
  if (!options_.shows_names()) return {};
  const std::string separator(1, options_.zero_after_name ? '\0' : after);
  return colored(kNameColor, is_terminal_ ? printable(name) : name) +
         (options_.zero_after_name ? separator : colored(kSeparatorColor, separator));
}

template <class Write>
void GrepPrinter::write_colored(std::string_view color, const Write& write) {
  if (has_colors_) output_.write(color_begin(color));
  write();
  if (has_colors_) output_.write(kColorEnd);
}

std::string GrepPrinter::colored(std::string_view color, std::string_view text) const {
  return has_colors_ ? fmt::format("{}{}{}", color_begin(color), text, kColorEnd) : std::string(text);
}

}  // namespace recordfs
