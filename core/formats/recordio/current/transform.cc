#include "core/formats/recordio/current/transform.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/codec/compress.h"
#include "core/formats/recordio/table.h"
#include "core/formats/streamed_chunk.h"

namespace recordfs::recordio {
namespace {

constexpr std::uint64_t kFirstStored = 16 << 10;
constexpr std::size_t kFirstPiece = 1024;
constexpr std::size_t kOutputPiece = 4096;
constexpr std::uint64_t kLongestVarint = 10;
constexpr std::size_t kShownName = 64;
// No transformer consumes this much input before its first output, if it has any.
constexpr std::uint64_t kLeastBeginning = 1 << 20;

// The reference ignores bytes after the end of a deflate stream, but rejects bytes after zstd frames.
Tail tail_of(CodecId codec) { return codec == CodecId::kDeflate ? Tail::kIgnored : Tail::kDamage; }

std::optional<CodecId> codec_from(std::string_view name) {
  for (const CodecId codec : {CodecId::kDeflate, CodecId::kZstd}) {
    if (name == to_string(codec)) return codec;
  }
  return std::nullopt;
}

// Returns the start of a name, short enough for a reason.
std::string shown(std::string_view name) {
  return printable(name.substr(0, kShownName)) + (name.size() > kShownName ? "..." : "");
}

Error named(Error error, CodecId codec) {
  error.detail = fmt::format("transformer {}: {}", to_string(codec), error.detail);
  return error;
}

Error too_large(std::uint64_t limit) {
  return {.code = Code::kLimit, .detail = fmt::format("more than {} bytes in one decoded block", limit)};
}

// What lies between two transformers is the stored bytes of one of them. A chain may have many, and each could decode a
// few bytes to the next such few and a long rest that is ignored.
Error too_large_between(const Limits& limits) {
  return {.code = Code::kLimit,
          .detail = fmt::format("more than {} bytes between the transformers of one block", limits.stored_chunk)};
}

// Returns how many bytes can precede the end of the table, in a block and between two of its transformers.
std::uint64_t longest_beginning(const Limits& limits) {
  const std::uint64_t table = kLongestVarint + limits.records_per_chunk * kLongestVarint;
  return std::max(std::min(table, limits.decoded_chunk), kLeastBeginning);
}

// The first bytes of a stream's output.
struct Beginning {
  Buffer bytes;
  bool is_all = false;
};

// Returns whether these bytes are enough. Null: only the whole output is enough.
using IsEnough = std::function<bool(Bytes)>;

// Decodes up to `most` bytes, or until they are enough; checks that less often as they grow. Unless `input_is_all`, a
// failure only ends the output.
Result<Beginning> read_beginning(const RequestContext& context, CodecId codec, Bytes input, bool input_is_all,
                                 std::uint64_t most, const Limits& limits, const IsEnough& is_enough) {
  auto stream = open_stream(codec, input, tail_of(codec), limits.decoded_chunk);
  if (!stream) return named(std::move(stream).error(), codec);
  ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(most)));
  std::size_t filled = 0;
  std::size_t asked = 0;
  Beginning beginning;
  while (filled < bytes.size() && !beginning.is_all) {
    if (is_enough && filled >= std::max(kFirstPiece, 2 * asked)) {
      if (is_enough(bytes.view().first(filled))) break;
      asked = filled;
    }
    const std::size_t piece = filled == 0 ? kFirstPiece : kOutputPiece;
    const MutableBytes room = bytes.span().subspan(filled, std::min(piece, bytes.size() - filled));
    auto got = (*stream)->read(context, room);
    if (!got && got.error().code == Code::kDamage && !input_is_all) break;
    if (!got) return named(std::move(got).error(), codec);
    filled += *got;
    beginning.is_all = *got < room.size();
  }
  bytes.truncate(filled);
  beginning.bytes = std::move(bytes);
  return beginning;
}

Result<Layout> within(Layout layout, const Limits& limits) {
  if (layout.end() > limits.decoded_chunk) return too_large(limits.decoded_chunk);
  return layout;
}

// Returns one transformer's whole output, of at most `most` bytes. Its size is not known.
Result<Buffer> undo_one(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t most,
                        const Limits& limits) {
  if (tail_of(codec) == Tail::kIgnored) {
    auto front = decompress_front(context, codec, stored, 0, most);
    if (!front) return named(std::move(front).error(), codec);
    return std::move(front->content);
  }
  auto content = decompress(context, codec, stored, 0, most, limits.decoded_chunk);
  if (!content) return named(std::move(content).error(), codec);
  return content;
}

// Returns the content itself, whose size follows from the table.
Result<Buffer> undo_first(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t size,
                          const Limits& limits) {
  auto content = decompress_exactly(context, codec, stored, size, tail_of(codec), limits.decoded_chunk);
  if (!content) return named(std::move(content).error(), codec);
  return content;
}

}  // namespace

Transform Transform::unknown(std::string why) {
  Transform transform;
  transform.unsupported_ = Error{.code = Code::kUnsupported, .detail = std::move(why)};
  return transform;
}

Transform Transform::from_names(const std::vector<std::string>& names) {
  std::vector<CodecId> codecs;
  for (const std::string& name : names) {
    const auto codec = codec_from(std::string_view(name).substr(0, name.find(' ')));
    if (!codec) return unknown(fmt::format("unknown transformer \"{}\"", shown(name)));
    codecs.push_back(*codec);
  }
  return Transform(std::move(codecs));
}

std::string_view Transform::word() const {
  if (unsupported_) return "unknown";
  if (codecs_.empty()) return to_string(CodecId::kNone);
  if (codecs_.size() == 1) return to_string(codecs_[0]);
  const bool flate_first = codecs_[0] == CodecId::kDeflate;
  const bool flate_last = codecs_[1] == CodecId::kDeflate;
  if (codecs_.size() > 2) return "chain";
  return flate_first ? (flate_last ? "flate+flate" : "flate+zstd") : (flate_last ? "zstd+flate" : "zstd+zstd");
}

Result<std::string> Transform::apply(std::string content, const std::vector<std::optional<int>>& levels) const {
  if (unsupported_) return *unsupported_;
  for (std::size_t i = 0; i < codecs_.size(); ++i) {
    std::string stored;
    TRY(compress(codecs_[i], levels[i], as_bytes(content), stored));
    content = std::move(stored);
  }
  return content;
}

Result<Layout> Transform::layout(const RequestContext& context, const StoredPrefix& prefix, std::uint64_t stored_size,
                                 const Limits& limits) const {
  if (unsupported_) return *unsupported_;
  const std::uint64_t longest = longest_beginning(limits);
  for (std::uint64_t size = kFirstStored;; size = std::min(size * 4, longest)) {
    ASSIGN_OR_RETURN(auto stored, prefix(size));
    Beginning known{std::move(stored), false};
    known.is_all = known.bytes.size() >= stored_size;
    Result<std::optional<Layout>> table = std::optional<Layout>{};
    const auto find_table = [&](Bytes content) {
      table = parse_table(context, content, UINT64_MAX, limits);
      return !table || *table;
    };
    std::uint64_t between = 0;
    for (std::size_t i = codecs_.size(); i > 0; --i) {
      if (between > limits.stored_chunk) return too_large_between(limits);
      const IsEnough is_enough = i == 1 ? IsEnough(find_table) : IsEnough();
      ASSIGN_OR_RETURN(auto next, read_beginning(context, codecs_[i - 1], known.bytes.view(), known.is_all, size,
                                                 limits, is_enough));
      next.is_all = next.is_all && known.is_all;
      between += next.bytes.size();
      known = std::move(next);
    }
    if (table && !*table) find_table(known.bytes.view());
    if (!table) return std::move(table).error();
    if (*table) return within(std::move(**table), limits);
    if (known.is_all) return cut_table();
    if (size == longest) {
      return Error{.code = Code::kLimit,
                   .detail = fmt::format("the table of item sizes does not end in the first {} bytes of the block, or "
                                         "of the output of one of its transformers",
                                         longest)};
    }
  }
}

Result<Transform::Inner> Transform::undo_outer(const RequestContext& context, Bytes stored,
                                               const Limits& limits) const {
  if (unsupported_) return *unsupported_;
  const auto prefix = [&](std::uint64_t size) {
    return Buffer::copy_of(context,
                           stored.first(static_cast<std::size_t>(std::min<std::uint64_t>(size, stored.size()))));
  };
  ASSIGN_OR_RETURN(auto table, layout(context, prefix, stored.size(), limits));
  Inner inner{.layout = std::move(table), .stream = std::nullopt};
  std::uint64_t left = limits.stored_chunk;
  for (std::size_t i = codecs_.size() - 1; i > 0; --i) {
    auto next = undo_one(context, codecs_[i], inner.stream ? inner.stream->view() : stored, left, limits);
    if (!next && next.error().code == Code::kLimit) return too_large_between(limits);
    if (!next) return std::move(next).error();
    left -= next->size();
    inner.stream = std::move(*next);
  }
  return inner;
}

Result<Transform::Content> Transform::undo(const RequestContext& context, Bytes stored, const Limits& limits) const {
  ASSIGN_OR_RETURN(auto inner, undo_outer(context, stored, limits));
  if (inner.stream) stored = inner.stream->view();
  ASSIGN_OR_RETURN(auto bytes, undo_first(context, codecs_[0], stored, inner.layout.end(), limits));
  return Content{std::move(bytes), std::move(inner.layout)};
}

// Several zstd frames may need more memory than the first one states.
std::optional<std::uint64_t> Transform::known_size(Bytes stored) const {
  if (codecs_.size() != 1 || codecs_[0] != CodecId::kZstd || zstd_frame_size(stored) != stored.size()) {
    return std::nullopt;
  }
  const auto size = zstd_content_size(stored);
  return size && is_plausible(stored.size(), *size) ? size : std::nullopt;
}

Result<void> Transform::undo_into(const RequestContext& context, Bytes stored, MutableBytes out) const {
  return decompress_into(context, codecs_[0], stored, out);
}

Result<std::shared_ptr<const Chunk>> Transform::decode(const RequestContext& context, Buffer stored,
                                                       const Limits& limits,
                                                       const std::function<Error(Error)>& explain) const {
  ASSIGN_OR_RETURN(auto inner, undo_outer(context, stored.view(), limits));
  if (inner.stream) stored = std::move(*inner.stream);
  const CodecId first = codecs_[0];
  const auto size = static_cast<std::size_t>(inner.layout.end());
  if (StreamedChunk::is_worth(first, size)) {
    StreamedChunk::Compressed compressed{.stored = std::move(stored),
                                         .codec = first,
                                         .payload = size,
                                         .tail = tail_of(first),
                                         .memory = limits.decoded_chunk};
    const auto explain_codec = [explain, first](Error error) { return explain(named(std::move(error), first)); };
    return std::shared_ptr<const Chunk>(
        std::make_shared<StreamedChunk>(std::move(compressed), std::move(inner.layout), explain_codec));
  }
  ASSIGN_OR_RETURN(auto bytes, undo_first(context, first, stored.view(), size, limits));
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(bytes), std::move(inner.layout)));
}

}  // namespace recordfs::recordio
