#include "fusefs/commands/record_copier.h"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/utf8.h"
#include "core/decoding/json_writer.h"
#include "fusefs/open_container.h"

namespace recordfs {
namespace {

// Bounds memory: larger records are read in pieces.
constexpr std::uint64_t kPieceBytes = 1u << 20;
constexpr std::uint64_t kRunBytes = 128u << 10;  // of small records, so that a copy of them stays in the cache
constexpr std::uint64_t kMadeAheadBytes = 16u << 20;
constexpr std::size_t kMadeAheadText = 64u << 20;
constexpr std::uint64_t kLargestInWindow = 64u << 10;
constexpr std::size_t kLargePiece = 16u << 10;  // from this mean size on, bytes are written without a copy

void append_varint(std::string& text, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) text += static_cast<char>((number & 0x7F) | 0x80);
  text += static_cast<char>(number);
}

// What precedes and follows a record.
struct Frame {
  std::string before;
  std::string_view after;
};

Frame frame_of(RecordForm form, std::uint64_t size) {
  Frame frame;
  if (form == RecordForm::kDelimited) append_varint(frame.before, size);
  if (form == RecordForm::kLines) frame.after = "\n";
  if (form == RecordForm::kNull) frame.after = std::string_view("\0", 1);
  return frame;
}

// Returns the begin of a line of JSON, up to the member with the record's bytes.
std::string json_line_head(const RecordName& name, std::uint64_t size, std::string_view shard_member) {
  if (const auto* ordinal = std::get_if<std::uint64_t>(&name)) {
    return fmt::format("{{\"ordinal\":{},{}\"size\":{},", *ordinal, shard_member, size);
  }
  const auto& address = std::get<RecordAddress>(name);
  return fmt::format("{{{}\"chunk\":{},\"index\":{},\"size\":{},", shard_member, address.begin, address.index, size);
}

bool becomes_text(RecordForm form) { return form == RecordForm::kJson || form == RecordForm::kShown; }

// Appends a line that is safe for a terminal.
void append_shown(std::string& text, Bytes record) {
  std::string_view shown = as_text(record);
  if (shown.ends_with('\n')) shown.remove_suffix(1);
  text += printable(shown);
  text += '\n';
}

// Writes records of a chunk, to a string or to an output.
class RecordPrinter {
 public:
  RecordPrinter(const RecordText& text, const ChunkRecords& records, const Chunk& chunk, Output* output)
      : store_(text.store),
        options_(text.options),
        decoder_(text.decoder),
        text_(text),
        records_(records),
        chunk_(chunk),
        layout_(chunk.layout()),
        output_(output) {}

  Rendered run() {
    try {
      write_all(records_.which);
    } catch (const std::bad_alloc&) {
      // A record's text may be several times as large as the record, and no caller catches bad_alloc.
      rendered_.failures.push_back({.code = Code::kOutOfMemory, .detail = "no memory for the text of a record"});
      rendered_.is_over = true;
    }
    return std::move(rendered_);
  }

 private:
  void write_all(Span which) {
    for (std::uint64_t i = which.begin; i < which.end && goes_on();) {
      if (rendered_.text.size() > kMadeAheadText) {
        rendered_.rest = {.begin = i, .end = which.end};
        return;
      }
      if (const Error* failure = layout_.failure(i)) {
        fail(*failure);
        i = end_of_failure(i, which.end);
        continue;
      }
      const std::uint64_t end = end_of_run(i, which.end);
      if (end - i == 1) {
        write_one(i);
      } else {
        write_run(i, end);
      }
      i = end;
    }
  }

  bool goes_on() const { return !rendered_.is_over && (output_ == nullptr || output_->good()); }

  void put(Bytes bytes) {
    if (output_ != nullptr) {
      output_->write(bytes);
    } else {
      rendered_.text.append(as_text(bytes));
    }
  }
  void put(std::string_view text) { put(as_bytes(text)); }

  void fail(const Error& why) {
    rendered_.failures.push_back(why);
    rendered_.is_over = !options_.skips_damage;
  }

  // Returns the first record after `first` that does not fail for the same reason.
  std::uint64_t end_of_failure(std::uint64_t first, std::uint64_t end) const {
    const Error* why = layout_.failure(first);
    while (first < end && layout_.failure(first) == why) ++first;
    return first;
  }

  // Returns the end of a run that is read at once: readable records, at most kRunBytes unless it is one record.
  std::uint64_t end_of_run(std::uint64_t first, std::uint64_t end) const {
    const std::uint64_t limit = layout_.extent(first).begin + kRunBytes;
    std::uint64_t after = std::min(end, layout_.index_at(limit));
    after = std::max(after, first + 1);
    if (!layout_.has_failures()) return after;
    for (std::uint64_t i = first + 1; i < after; ++i) {
      if (layout_.failure(i) != nullptr) return i;
    }
    return after;
  }

  RecordName name_of(std::uint64_t index) const {
    if (records_.first_ordinal) return text_.first_ordinal + *records_.first_ordinal + index;
    return RecordAddress{records_.info.begin, index};
  }

  void put_record(std::uint64_t index, Bytes record) {
    if (becomes_text(options_.form)) {
      if (options_.form == RecordForm::kJson && output_ != nullptr && record.size() > kPieceBytes) {
        return write_json(index, record);
      }
      if (options_.form == RecordForm::kShown) {
        append_shown(rendered_.text, record);
      } else if (const auto made = append_json_line(rendered_.text, name_of(index), record, decoder_, records_.info,
                                                    text_.shard_member);
                 !made) {
        return fail(made.error());
      }
      if (output_ != nullptr) output_->write(std::exchange(rendered_.text, {}));
      return;
    }
    const Frame frame = frame_of(options_.form, record.size());
    put(frame.before);
    put(record);
    put(frame.after);
  }

  // Writes the line of a large record in pieces, because its text may be several times as large as the record.
  void write_json(std::uint64_t index, Bytes record) {
    // Made first, because after a failure nothing of the line must be written.
    std::string members;
    // A growing string needs its memory twice.
    members.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(RecordDecoder::kMostText, 4 * record.size())));
    if (const auto made = decoder_.append_members({}, members, records_.info, record); !made) return fail(made.error());
    output_->write(json_line_head(name_of(index), record.size(), text_.shard_member));
    write_json_bytes("text", "base64", record, [this](std::string_view piece) { output_->write(piece); });
    output_->write(members);
    output_->write("}\n");
  }

  void write_run(std::uint64_t first, std::uint64_t end) {
    const Extent front = layout_.extent(first);
    const Extent back = layout_.extent(end - 1);
    const auto bytes = store_.chunks().read({}, chunk_, front.begin, back.begin + back.size - front.begin);
    if (!bytes) {
      // Records before the failing one may be readable.
      for (std::uint64_t i = first; i < end && goes_on(); ++i) write_one(i);
    } else if (options_.form == RecordForm::kBytes) {
      put(bytes->bytes);
    } else {
      for (std::uint64_t i = first; i < end && goes_on(); ++i) {
        const Extent extent = layout_.extent(i);
        put_record(i, bytes->bytes.subspan(static_cast<std::size_t>(extent.begin - front.begin),
                                           static_cast<std::size_t>(extent.size)));
      }
    }
  }

  void write_one(std::uint64_t index) {
    const Extent extent = layout_.extent(index);
    if (extent.size > kPieceBytes && !becomes_text(options_.form)) return write_pieces(extent);
    const auto record = store_.chunks().read({}, chunk_, extent.begin, extent.size);
    if (!record) return fail(record.error());
    put_record(index, record->bytes);
  }

  void write_pieces(const Extent& extent) {
    const Frame frame = frame_of(options_.form, extent.size);
    for (std::uint64_t at = 0; at < extent.size && goes_on(); at += kPieceBytes) {
      const auto piece = store_.chunks().read({}, chunk_, extent.begin + at, std::min(kPieceBytes, extent.size - at));
      if (!piece) {
        fail(piece.error());
        // Half a record was written, and further output would look like the rest of it.
        rendered_.is_over = rendered_.is_over || at > 0;
        return;
      }
      if (at == 0) put(frame.before);
      put(piece->bytes);
    }
    put(frame.after);
  }

  const RecordStore& store_;
  const FormOptions& options_;
  const RecordDecoder& decoder_;
  const RecordText& text_;
  const ChunkRecords& records_;
  const Chunk& chunk_;
  const Layout& layout_;
  Output* const output_;
  Rendered rendered_;
};

// Joins records that follow each other in memory.
std::vector<Bytes> joined(std::span<const Bytes> records) {
  std::vector<Bytes> pieces;
  for (const Bytes record : records) {
    if (!pieces.empty() && pieces.back().data() + pieces.back().size() == record.data()) {
      pieces.back() = Bytes(pieces.back().data(), pieces.back().size() + record.size());
    } else {
      pieces.push_back(record);
    }
  }
  return pieces;
}

// Returns whether streams skip a chunk, readable or not, because it has no bytes and no records.
bool holds_nothing(const ChunkInfo& chunk) { return chunk.records == 0u && chunk.decoded_size == 0u; }

// Returns all records of a chunk, whose ordinals were not counted.
ChunkRecords all_of(const IndexedChunk& indexed) {
  return {.info = indexed.chunk, .which = {.begin = 0, .end = indexed.chunk.records.value_or(0)}};
}

}  // namespace

std::string json_member_of_shard(std::string_view name) {
  if (name.empty()) return {};
  std::string member = "\"shard\":";
  append_json_string(member, printable(name));
  return member + ',';
}

void FormOptions::declare(CLI::App& app) {
  const auto choose = [this](RecordForm wanted) {
    return [this, wanted] {
      if (form != RecordForm::kBytes && form != wanted) {
        throw CLI::ValidationError("only one of --lines, --null, --delimited and --json can be given");
      }
      form = wanted;
    };
  };
  app.add_flag_callback("--lines", choose(RecordForm::kLines), "write a newline after each record");
  app.add_flag_callback("--null", choose(RecordForm::kNull), "write a NUL byte after each record");
  app.add_flag_callback("--delimited", choose(RecordForm::kDelimited),
                        "write the length of each record before it, as a varint (protobuf's delimited messages)");
  app.add_flag_callback(
      "--json", choose(RecordForm::kJson),
      "write a line of JSON for each record: ordinal, size, text (base64 if not UTF-8), decoded content\n"
      "The record is in `text` or `base64`, and its decoded content in `decoded`, with the `type` of a protobuf "
      "message. A "
      "message whose type is unknown, or that cannot be decoded, has its `fields` by number, and the reason as "
      "`error`. If the ordinal is unknown, with `--split` and `@OFFSET/INDEX`, the object has `chunk` and `index` "
      "instead.");
  declare_types(app);
  app.add_flag("--skip-damage", skips_damage, "omit records that cannot be read, and continue (exit status 4)");
}

void FormOptions::declare_types(CLI::App& app) {
  app.add_option("--descriptors", descriptors_,
                 "protobuf types for --json, written by protoc --descriptor_set_out\n"
                 "Same as the mount option `descriptors`.")
      ->type_name("FILE");
  app.add_option("--type", type_,
                 "full name of every record's message type; optional if FILE has only one\n"
                 "Same as the mount option `type`.")
      ->type_name("NAME");
  app.parse_complete_callback([this] {
    if (descriptors_.empty() && type_.empty()) return;
    if (form != RecordForm::kJson) throw CLI::ValidationError("--descriptors and --type are for --json");
    auto given = read_user_types(descriptors_, type_);
    if (!given) throw CLI::ValidationError(descriptors_ + ": " + given.error().detail);
    types = std::move(*given);
  });
}

Result<void> append_json_line(std::string& text, const RecordName& name, Bytes record, const RecordDecoder& decoder,
                              const ChunkInfo& chunk, std::string_view shard_member) {
  const std::size_t before = text.size();
  text += json_line_head(name, record.size(), shard_member);
  append_json_bytes(text, "text", "base64", record);
  auto decoded = decoder.append_members({}, text, chunk, record);
  if (decoded) {
    text += "}\n";
  } else {
    text.resize(before);
  }
  return decoded;
}

RecordText::RecordText(const SetMember& member, const FormOptions& wanted)
    : store(*member.store),
      options(wanted),
      decoder(store.schema(), store.metadata(), wanted.types),
      first_ordinal(member.first_ordinal),
      shard_member(json_member_of_shard(member.name)) {}

bool RecordText::is_made_ahead(const Chunk& chunk) const {
  return options.form != RecordForm::kBytes && chunk.payload_size() <= kMadeAheadBytes;
}

bool RecordText::depends_on_bytes_alone() const { return !becomes_text(options.form); }

RenderedBatch RecordText::render(std::span<const Bytes> records, std::shared_ptr<const void> owner) const {
  constexpr std::size_t kLongestFrame = 10;
  if (records.empty()) return {};
  if (options.form == RecordForm::kBytes) {
    std::vector<Bytes> pieces = joined(records);
    std::size_t size = 0;
    for (const Bytes piece : pieces) size += piece.size();
    if (size / pieces.size() >= kLargePiece) return {std::move(pieces), std::move(owner)};
  }
  std::size_t size = 0;
  for (const Bytes record : records) size += record.size() + kLongestFrame;
  auto buffer = Buffer::allocate({}, size);
  if (!buffer) throw std::bad_alloc();
  MutableBytes rest = buffer->span();
  const auto put = [&](Bytes bytes) {
    copy_bytes(bytes, rest);
    rest = rest.subspan(bytes.size());
  };
  if (options.form == RecordForm::kBytes) {
    for (const Bytes record : records) put(record);
  } else {
    for (const Bytes record : records) {
      const Frame frame = frame_of(options.form, record.size());
      put(as_bytes(frame.before));
      put(record);
      put(as_bytes(frame.after));
    }
  }
  buffer->truncate(size - rest.size());
  Slice text = owned(std::move(*buffer));
  return {{text.bytes}, std::move(text.owner)};
}

Rendered RecordText::render(const ChunkRecords& records, const Chunk& chunk, Output* output) const {
  return RecordPrinter(*this, records, chunk, output).run();
}

RecordCopier::RecordCopier(const SetMember& member, const FormOptions& options, CommandContext& context)
    : path_(member.path),
      store_(*member.store),
      options_(options),
      context_(context),
      output_(context.output()),
      text_(member, options),
      damage_(path_, store_, context) {}

RecordCopier::PreparedChunk RecordCopier::prepare(const RequestContext& context, const ChunkRecords& records) const {
  PreparedChunk prepared{.records = records, .chunk = store_.chunks().decode_ahead(context, records.info)};
  if (!prepared.chunk || !text_.is_made_ahead(**prepared.chunk)) return prepared;
  prepared.rendered = text_.render(records, **prepared.chunk);
  prepared.records.which = prepared.rendered->rest;
  if (prepared.rendered->rest.is_empty()) prepared.chunk = std::shared_ptr<const Chunk>();
  return prepared;
}

// A chunk that cannot be read but declares no bytes does not end the copy, as in a stream.
bool RecordCopier::write(const PreparedChunk& prepared) {
  return write_all(prepared) || (prepared.records.info.decoded_size == 0u && output_.good());
}

bool RecordCopier::write_all(const PreparedChunk& prepared) {
  if (!prepared.chunk) {
    context_.report(store_, prepared.chunk.error());
    return options_.skips_damage && output_.good();
  }
  if (prepared.rendered) {
    output_.write(prepared.rendered->text);
    if (!settle(*prepared.rendered)) return false;
  }
  return prepared.records.which.is_empty() || settle(text_.render(prepared.records, **prepared.chunk, &output_));
}

// Prints what failed in a run of records, after its text.
bool RecordCopier::settle(const Rendered& rendered) {
  // Shows the first record without delay.
  if (!std::exchange(has_written_, true)) output_.flush();
  for (const Error& failure : rendered.failures) context_.report(store_, failure);
  return !rendered.is_over && output_.good();
}

Finish RecordCopier::copy_ahead(const RequestContext& context, const ChunkRecords& records) {
  if (holds_nothing(records.info)) return {};
  return [this, prepared = prepare(context, records)] { return goes_on_ = write(prepared); };
}

Finish RecordCopier::copy_batch(const std::shared_ptr<const ScannedBatch>& batch, Span which) {
  const auto records =
      std::span(batch->content.records)
          .subspan(static_cast<std::size_t>(which.begin), static_cast<std::size_t>(which.end - which.begin));
  return [this, text = text_.render(records, batch)] {
    for (const Bytes piece : text.pieces) output_.write(piece);
    has_written_ = true;
    return goes_on_ = output_.good();
  };
}

bool RecordCopier::copy(const Selection& selection) {
  goes_on_ = true;
  const auto copy_chunk = [&](const RequestContext& context, const IndexedChunk& indexed) -> Finish {
    const Span which = selection.within(indexed);
    if (which.is_empty() && !selection.lies_inside(indexed.before.records)) return {};
    return copy_ahead(context, {indexed.chunk, which, indexed.before.records});
  };
  WorkOnBatch copy_records;
  if (text_.depends_on_bytes_alone()) {
    copy_records = [&](const std::shared_ptr<const ScannedBatch>& batch) {
      return copy_batch(batch, selection.within(batch->before.records, batch->content.run.records));
    };
  }
  return damage_.scan(selection, copy_chunk, copy_records) && goes_on_;
}

bool RecordCopier::copy(const Split& split) {
  if (!store_.traits().is_in_file_order) return copy_in_file_order(split);
  auto start = start_of(split, store_);
  if (!start) {
    context_.print_failure(path_, start.error());
    return false;
  }
  ScanOptions options;
  options.from = std::move(*start);
  options.end_position = split.end;
  goes_on_ = true;
  const bool is_scanned = damage_.scan(
      options, [&](const DamageRow& row) { return split.owns(row.region.begin); },
      [&](const RequestContext& context, const IndexedChunk& indexed) {
        return split.owns(indexed.chunk.begin) ? copy_ahead(context, all_of(indexed)) : Finish();
      });
  return goes_on_ && is_scanned;
}

bool RecordCopier::copy_in_file_order(const Split& split) {
  const auto content = content_of(split, store_);
  if (!content) {
    context_.print_failure(path_, content.error());
    return false;
  }
  for (const DamagedRegion& region : content->damage) damage_.add(region);
  damage_.finish();
  return std::ranges::all_of(content->chunks, [this](const IndexedChunk& indexed) {
    const Finish finish = copy_ahead({}, all_of(indexed));
    return !finish || finish();
  });
}

bool RecordCopier::copy(const RequestContext& context, const RecordRef& record,
                        std::optional<std::uint64_t> first_ordinal) {
  // A window would copy a large chunk once more.
  const bool is_small = record.chunk.stored_size <= kLargestInWindow;
  const auto chunk = store_.chunks().get_alone(is_small ? context : RequestContext(), record.chunk);
  if (!chunk) {
    context_.note(chunk.error());
    return options_.skips_damage;
  }
  const Span which{.begin = record.index, .end = record.index + 1};
  return settle(text_.render({record.chunk, which, first_ordinal}, **chunk, &output_));
}

}  // namespace recordfs
