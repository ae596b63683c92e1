#include "core/store/index_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/source.h"
#include "core/base/storage.h"
#include "core/hash/highway.h"
#include "core/store/saved_index.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kFileMagic = 0x656c696673666372;  // "rcfsfile"
constexpr std::uint32_t kFileVersion = 1;
constexpr std::size_t kMostParts = 2;  // numbers of records, and their sizes
constexpr std::uint64_t kLargestFile = 64u << 20;

template <class Number>
void put(std::string& text, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) text.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
}

Error refused(std::string why) { return {.code = Code::kDamage, .detail = std::move(why)}; }

std::string name_beside(const Source& source) { return fmt::format("{}{}", source.name(), kIndexSuffix); }

Result<std::shared_ptr<const IndexFile>> read_from(const RequestContext& context, const Source& file,
                                                   std::string name) {
  if (file.size() > kLargestFile) return Error{.code = Code::kLimit, .detail = "too large for an index"};
  ASSIGN_OR_RETURN(auto bytes, read_exactly(context, file, 0, file.size()));
  return std::make_shared<const IndexFile>(IndexFile{.name = std::move(name), .bytes = std::move(bytes)});
}

// Reads the index file beside a source. Null: there is none.
Result<std::shared_ptr<const IndexFile>> file_beside(const RequestContext& context, const Source& source) {
  ASSIGN_OR_RETURN(const auto file, source.beside(context, kIndexSuffix));
  if (!file) return std::shared_ptr<const IndexFile>();
  return read_from(context, *file, name_beside(source));
}

}  // namespace

std::string pack_index_file(const std::vector<std::string>& parts) {
  std::string text;
  put(text, kFileMagic);
  put(text, kFileVersion);
  put(text, static_cast<std::uint32_t>(parts.size()));
  for (const std::string& part : parts) {
    put(text, std::uint64_t{part.size()});
    text += part;
  }
  put(text, highway_hash(as_bytes(text)));
  return text;
}

Result<std::vector<Bytes>> parts_of_index_file(Bytes bytes) {
  Cursor cursor(bytes);
  if (cursor.u64_le() != kFileMagic) return refused("not an index file");
  if (cursor.u32_le() != kFileVersion) return Error{.code = Code::kUnsupported, .detail = "unknown index version"};
  const std::uint32_t count = cursor.u32_le();
  std::vector<Bytes> parts;
  parts.reserve(kMostParts);
  for (std::uint32_t i = 0; i < count && i < kMostParts; ++i) {
    const std::uint64_t size = cursor.u64_le();
    if (size > cursor.remaining()) return refused("corrupt index");
    parts.push_back(cursor.take(static_cast<std::size_t>(size)));
  }
  const std::size_t content = bytes.size() - cursor.remaining();
  const std::uint64_t checksum = cursor.u64_le();
  const bool is_sound =
      cursor.ok() && cursor.at_end() && count == parts.size() && checksum == highway_hash(bytes.first(content));
  if (!is_sound) return refused("corrupt index");
  return parts;
}

Result<std::shared_ptr<const IndexFile>> read_index_file(const std::string& word) {
  const Location location(word);
  ASSIGN_OR_RETURN(const auto file, open_source({}, location));
  ASSIGN_OR_RETURN(auto read, read_from({}, *file, location.text()));
  TRY(parts_of_index_file(read->bytes.view()));
  return read;
}

// The version of a remote source is the same by all its URLs, so they are not compared.
IndexKey SavedIndex::portable_key() const {
  IndexKey key = key_;
  key.touch = 0;
  if (portable_version_.empty()) return key;
  key.source = 0;
  key.version = highway_hash(as_bytes(portable_version_));
  return key;
}

Result<std::string> SavedIndex::part_of_file(const RequestContext& context, const CatalogSnapshot& snapshot) const {
  if (!is_settled_ || (source_.is_remote() && portable_version_.empty())) {
    return Error{.code = Code::kUnsupported,
                 .detail = source_.is_remote() ? "the server sends no strong ETag, so an index could not name the bytes"
                                               : "the file was modified just now"};
  }
  IndexKey key = portable_key();
  if (!hash_ends(context, source_, key)) return Error{.code = Code::kIo, .detail = "the file cannot be read again"};
  std::string part = encode_index(key, snapshot);
  if (part.size() > kLargestFile / kMostParts) return Error{.code = Code::kLimit, .detail = "the index is too large"};
  return part;
}

Result<CatalogSnapshot> SavedIndex::taken_from(const RequestContext& context, const IndexFile& file) const {
  ASSIGN_OR_RETURN(const auto parts, parts_of_index_file(file.bytes.view()));
  IndexKey now = portable_key();
  Error why = refused("it has no such scan of the file");
  for (const Bytes part : parts) {
    auto saved = decode_index(part, bounds_);
    if (!saved) {
      why = std::move(saved).error();
      continue;
    }
    const IndexKey& key = saved->key;
    if (key.source != now.source || key.version != now.version || key.size != now.size || key.format != now.format) {
      return refused("it is of another file, or another version of the file");
    }
    if (key.producer_hash != now.producer_hash) {
      why = refused("it was made by another version of recordfs, or with other options");
      continue;
    }
    if (!hash_ends(context, source_, now)) return refused("the file cannot be read");
    if (key != now) return refused("it is of a file with other bytes");
    return std::move(saved->snapshot);
  }
  return why;
}

std::optional<SavedIndex::Loaded> SavedIndex::look_for_index_file(const RequestContext& context) {
  // A scan of a small file costs as many requests.
  constexpr std::uint64_t kSmall = 1u << 20;
  const bool may_look =
      location_.looks_beside && !portable_version_.empty() && source_.is_remote() && source_.size() > kSmall;
  if (!location_.named && !may_look) return std::nullopt;
  auto file =
      location_.named ? Result<std::shared_ptr<const IndexFile>>(location_.named) : file_beside(context, source_);
  if (file && !*file) return std::nullopt;
  auto taken = file ? taken_from(context, **file) : Result<CatalogSnapshot>(file.error());
  std::string name = location_.named ? location_.named->name : name_beside(source_);
  if (taken) {
    log_(Severity::kDetail, fmt::format("found the index {}", name));
    index_file_ = std::move(name);
    return Loaded{.snapshot = std::move(*taken)};
  }
  const Code code = taken.error().code;
  if (code != Code::kPending && code != Code::kInterrupted) {
    log_(location_.named ? Severity::kWarning : Severity::kInfo,
         fmt::format("the index {} is not used: {}", name, taken.error().detail));
  }
  return std::nullopt;
}

}  // namespace recordfs
