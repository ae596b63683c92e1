#include "core/formats/leveldb_log/sinks.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/request_context.h"
#include "core/codec/codec.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::size_t kZstdHeaderSize = 18;   // the largest zstd frame header
constexpr std::uint64_t kZstdBlock = 131072;  // the most that one zstd block decodes to ...
constexpr std::uint64_t kZstdBlockLeast = 4;  // ... and its smallest stored size

// Returns an upper bound for the output of a zstd frame of this size, whatever its header claims.
std::uint64_t most_of_zstd(std::uint64_t stored) { return (stored / kZstdBlockLeast + 1) * kZstdBlock; }

}  // namespace

std::string_view Compression::codec() const {
  switch (kind) {
    case Kind::kNone: return "none";
    case Kind::kZstd: return "zstd";
    case Kind::kUnknown:
    case Kind::kLost: return "-";
  }
  return "-";
}

void SizeSink::begin(Position at) {
  begin_ = at;
  stored_size_ = 0;
  decoded_size_ = 0;
  stored_.clear();
  failure_.reset();
}

Result<void> SizeSink::piece(const RequestContext& context, const Fragment&, Bytes payload) {
  stored_size_ += payload.size();
  if (!wants_stored()) return {};
  context.announce_growth(stored_, payload.size());
  stored_.insert(stored_.end(), payload.begin(), payload.end());
  return {};
}

// Needs only the frame header, or the whole record if the header does not have the decoded size.
bool SizeSink::wants_stored() const {
  if (compression_.kind != Compression::Kind::kZstd) return false;
  return stored_.size() < kZstdHeaderSize || !zstd_content_size(stored_);
}

Result<std::uint64_t> SizeSink::size(const RequestContext& context, std::uint64_t limit) {
  decoded_size_ = stored_size_;
  if (stored_size_ == 0 || compression_.kind == Compression::Kind::kNone) return decoded_size_;
  decoded_size_ = 1;
  if (compression_.kind == Compression::Kind::kUnknown) {
    failure_ = Error{Code::kUnsupported, begin_, fmt::format("unknown compression {}", compression_.number)};
    return decoded_size_;
  }
  if (compression_.kind == Compression::Kind::kLost) {
    failure_ = Error{Code::kDamage, begin_, "the fragment that names the compression is damaged"};
    return decoded_size_;
  }
  if (const auto declared = zstd_content_size(stored_)) {
    if (*declared <= most_of_zstd(stored_size_)) return decoded_size_ = *declared;
    failure_ = Error{Code::kDamage, begin_, "a zstd frame that declares more content than it can hold"};
    return decoded_size_;
  }
  auto decoded = decompressed_size(context, CodecId::kZstd, stored_, limit);
  if (decoded) return decoded_size_ = *decoded;
  Error why = std::move(decoded).error();
  if (why.code == Code::kOutOfMemory) return why;
  if (why.code == Code::kLimit) return decoded_size_ = limit + 1;
  why.position = begin_;
  failure_ = std::move(why);
  return decoded_size_;
}

Result<void> LayoutSink::keep(const RequestContext& context) {
  if (failure()) {
    keep_failed(context, *failure());
  } else {
    layout_.add(context, decoded_size());
  }
  return {};
}

void DecodeSink::begin(Position at) {
  LayoutSink::begin(at);
  copied_ = 0;
}

Result<void> DecodeSink::piece(const RequestContext& context, const Fragment& fragment, Bytes payload) {
  if (compression().kind == Compression::Kind::kNone) {
    // A record without an end may exceed the buffer; its bytes are dropped later.
    const MutableBytes room =
        payload_.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(kept() + copied_, payload_.size())));
    const Bytes taken = payload.first(std::min(payload.size(), room.size()));
    std::copy(taken.begin(), taken.end(), room.begin());  // std::ranges::copy goes byte by byte here
    copied_ += payload.size();
  }
  return LayoutSink::piece(context, fragment, payload);
}

Result<void> DecodeSink::keep(const RequestContext& context) {
  const std::uint64_t size = decoded_size();
  if (kept() > payload_.size() || size > payload_.size() - kept()) {
    return Error{Code::kDamage, record_begin(), "the records are not those that the scan found"};
  }
  const MutableBytes slot = payload_.subspan(static_cast<std::size_t>(kept()), static_cast<std::size_t>(size));
  if (failure() || compression().kind != Compression::Kind::kZstd || stored().empty()) {
    if (failure()) std::ranges::fill(slot, std::byte{0});
    return LayoutSink::keep(context);
  }
  auto done = decompress_into(context, CodecId::kZstd, stored(), slot);
  if (done) return LayoutSink::keep(context);
  Error why = std::move(done).error();
  if (why.code == Code::kOutOfMemory) return why;
  why.position = record_begin();
  std::ranges::fill(slot, std::byte{0});
  keep_failed(context, why);
  return {};
}

void PieceSink::begin(Position at) {
  LayoutSink::begin(at);
  pieces_.resize(kept_pieces_);
  pending_ = 0;
}

Result<void> PieceSink::piece(const RequestContext& context, const Fragment& fragment, Bytes payload) {
  if (!payload.empty()) {
    context.announce_growth(pieces_);
    pieces_.push_back({kept() + pending_, fragment.begin});
  }
  pending_ += payload.size();
  return LayoutSink::piece(context, fragment, payload);
}

Result<void> PieceSink::keep(const RequestContext& context) {
  kept_pieces_ = pieces_.size();
  return LayoutSink::keep(context);
}

std::vector<Piece> PieceSink::take_pieces() {
  pieces_.resize(kept_pieces_);
  return std::move(pieces_);
}

}  // namespace recordfs::leveldb_log
