#include "core/export/record_text.h"

#include <algorithm>
#include <utility>

#include "core/base/protobuf.h"
#include "core/base/thrown.h"
#include "core/base/utf8.h"
#include "core/decoding/json_writer.h"

namespace recordfs {
namespace {

// Bounds memory: larger records are read in pieces.
constexpr std::uint64_t kPieceBytes = 1u << 20;
constexpr std::uint64_t kRunBytes = 128u << 10;  // of small records, so that a copy of them stays in the cache
constexpr std::uint64_t kMadeAheadBytes = 16u << 20;
constexpr std::uint64_t kMadeAheadRecords = 512u << 10;
constexpr std::size_t kMadeAheadText = 64u << 20;
constexpr std::uint64_t kUsualLine = 64;  // bytes of a line without the record

// What precedes and follows a record.
struct Frame {
  std::string before;
  std::string_view after;
};

Frame frame_of(RecordForm form, std::uint64_t size) {
  Frame frame;
  if (form == RecordForm::kDelimited) protobuf::append_varint(frame.before, size);
  if (form == RecordForm::kLines) frame.after = "\n";
  if (form == RecordForm::kNull) frame.after = std::string_view("\0", 1);
  return frame;
}

// Appends the lines of JSON of a chunk's records. The line of a record that equals the previous one differs only in its
// ordinal, and a small file may decode to millions of equal records.
class RecordLines {
 public:
  RecordLines(const RecordText& text, const ChunkInfo& chunk) : text_(text), chunk_(chunk) {}

  // Fails as append_json_line().
  Result<void> append(std::string& lines, const RecordName& name, Bytes record) {
    const bool is_again = has_previous_ && as_text(record) == previous_;
    const std::size_t before = lines.size();
    if (is_again && !rest_.empty()) {
      append_json_line_head(lines, name, record.size(), text_.shard);
      lines += rest_;
      return {};
    }
    TRY(append_json_line(lines, name, record, text_.decoder, chunk_, text_.shard, text_.options.json));
    has_previous_ = record.size() <= kMostCompared;
    rest_.clear();
    if (is_again) rest_ = lines.substr(before + json_line_head(name, record.size(), text_.shard).size());
    if (has_previous_) previous_ = as_text(record);
    return {};
  }

 private:
  static constexpr std::size_t kMostCompared = 64;  // bytes

  const RecordText& text_;
  const ChunkInfo& chunk_;
  std::string previous_;  // record, if has_previous_
  bool has_previous_ = false;
  std::string rest_;  // of the line of `previous_`, after its head; empty: not known
};

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
  RecordPrinter(const RecordText& text, const ChunkRecords& records, const Chunk& chunk, TextOutput* output)
      : text_(text),
        form_(text.options.form),
        json_lines_(text, records.info),
        records_(records),
        chunk_(chunk),
        layout_(chunk.layout()),
        reading_{.store = text.store, .chunk = chunk, .bytes = kRunBytes, .skips_damage = text.options.skips_damage},
        output_(output) {}

  Rendered run() {
    // A record's text may be several times as large as the record.
    if (!has_memory_for([this] { write_all(); })) {
      rendered_.failures.push_back(
          {.why = {.code = Code::kOutOfMemory, .detail = "no memory for the text of a record"}});
      rendered_.is_over = true;
    }
    return std::move(rendered_);
  }

 private:
  void write_all() {
    if (!records_.runs) return write_all(records_.which);
    for (const OrdinalInterval& run : *records_.runs) {
      const OrdinalInterval which{.begin = std::max(run.begin, records_.which.begin),
                                  .end = std::min(run.end, records_.which.end)};
      if (which.begin >= which.end) continue;
      write_all(which);
      if (!goes_on()) return;
      if (rendered_.rest.is_empty()) continue;
      rendered_.rest.end = records_.which.end;
      return;
    }
  }

  void write_all(OrdinalInterval which) {
    each_readable(
        reading_, which, rendered_, [this] { return goes_on(); },
        [this] { return rendered_.text.size() <= kMadeAheadText; },
        [this](OrdinalInterval readable) { write_run(readable); });
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

  void fail(const Error& why) { rendered_.fail({.why = why}, reading_.skips_damage); }

  RecordName name_of(std::uint64_t index) const {
    if (records_.first_ordinal) return text_.first_ordinal + *records_.first_ordinal + index;
    return RecordAddress{records_.info.begin, index};
  }

  void put_record(std::uint64_t index, Bytes record) {
    if (becomes_text(form_)) {
      if (form_ == RecordForm::kJson && output_ != nullptr && record.size() > kPieceBytes) {
        return write_json(index, record);
      }
      if (form_ == RecordForm::kShown) {
        append_shown(rendered_.text, record);
      } else if (const auto made = json_lines_.append(rendered_.text, name_of(index), record); !made) {
        return fail(made.error());
      }
      if (output_ == nullptr) return;
      output_->write(rendered_.text);
      rendered_.text.clear();
      return;
    }
    const Frame frame = frame_of(form_, record.size());
    put(frame.before);
    put(record);
    put(frame.after);
  }

  // Writes the line of a large record in pieces, because its text may be several times as large as the record.
  void write_json(std::uint64_t index, Bytes record) {
    const JsonLineOptions& options = text_.options.json;
    // Made first, because after a failure nothing of the line must be written.
    std::string members;
    // A growing string needs its memory twice.
    members.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(RecordDecoder::kMostText, 4 * record.size())));
    if (const auto made = append_decoded(members, text_.decoder, records_.info, record, options); !made) {
      return fail(made.error());
    }
    std::string line = json_line_head(name_of(index), record.size(), text_.shard);
    if (options.has_record) {
      auto json = JsonWriter::in_object(line);
      write_json_bytes(json, line, "text", "base64", record, options.bytes,
                       [this](std::string_view piece) { output_->write(piece); });
    }
    output_->write(line);
    output_->write(members);
    output_->write("}\n");
  }

  // REQUIRES: the records can be read, as far as the layout tells.
  void write_run(OrdinalInterval readable) {
    const Extent front = layout_.extent(readable.begin);
    const Extent back = layout_.extent(readable.end - 1);
    const std::uint64_t size = back.begin + back.size - front.begin;
    if (size > kPieceBytes && !becomes_text(form_))
      return write_pieces(front);  // a run is smaller, unless of one record
    if (form_ == RecordForm::kBytes) {
      if (const auto bytes = text_.store.chunks().read({}, chunk_, front.begin, size)) return put(bytes->bytes);
    }
    read_each(
        {}, reading_, readable, rendered_, [this] { return goes_on(); },
        [this](std::uint64_t index, Bytes record) { put_record(index, record); });
  }

  void write_pieces(const Extent& extent) {
    // Half a record would keep those after it from being written.
    if (reading_.skips_damage && !read_pieces(extent, [](Bytes) {})) return;
    const Frame frame = frame_of(form_, extent.size);
    std::uint64_t written = 0;
    const bool is_whole = read_pieces(extent, [&](Bytes piece) {
      if (written == 0) put(frame.before);
      put(piece);
      written += piece.size();
    });
    // Further output would look like the rest of the record.
    rendered_.is_over = rendered_.is_over || (!is_whole && written > 0);
    if (is_whole) put(frame.after);
  }

  // Calls `handle` with the bytes of a large record, one piece after another. Returns false after a failure, which it
  // notes, and if the output has ended.
  template <class Handle>
  bool read_pieces(const Extent& extent, const Handle& handle) {
    for (std::uint64_t at = 0; at < extent.size; at += kPieceBytes) {
      if (!goes_on()) return false;
      const auto piece =
          text_.store.chunks().read({}, chunk_, extent.begin + at, std::min(kPieceBytes, extent.size - at));
      if (!piece) {
        fail(piece.error());
        return false;
      }
      handle(piece->bytes);
    }
    return true;
  }

  const RecordText& text_;
  const RecordForm form_;
  RecordLines json_lines_;
  const ChunkRecords& records_;
  const Chunk& chunk_;
  const Layout& layout_;
  const RunReading reading_;
  TextOutput* const output_;
  Rendered rendered_;
};

}  // namespace

RecordText::RecordText(const SetMember& member, const FormOptions& wanted)
    : store(*member.store),
      options(wanted),
      decoder(store.schema(), store.metadata(), wanted.types),
      first_ordinal(member.first_ordinal),
      shard(member.name) {}

bool RecordText::depends_on_bytes_alone() const { return !becomes_text(options.form); }

bool RecordText::is_made_ahead(const Chunk& chunk) const {
  return becomes_text(options.form) && chunk.payload_size() <= kMadeAheadBytes &&
         chunk.layout().records() <= kMadeAheadRecords;
}

std::uint64_t RecordText::bytes_per_record() const { return becomes_text(options.form) ? kUsualLine : 0; }

void RecordText::write(std::span<const Bytes> records, TextOutput& output) const {
  for (std::size_t i = 0; i < records.size();) {
    Bytes record = records[i++];
    if (options.form != RecordForm::kBytes) {
      const Frame frame = frame_of(options.form, record.size());
      output.write(frame.before);
      output.write(record);
      output.write(frame.after);
      continue;
    }
    // Records that follow each other in memory are one piece.
    for (; i < records.size() && record.data() + record.size() == records[i].data(); ++i) {
      record = Bytes(record.data(), record.size() + records[i].size());
    }
    output.write(record);
  }
}

Rendered RecordText::render(const ChunkRecords& records, const Chunk& chunk, TextOutput* output) const {
  return RecordPrinter(*this, records, chunk, output).run();
}

}  // namespace recordfs
