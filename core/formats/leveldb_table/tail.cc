#include "core/formats/leveldb_table/tail.h"

#include <algorithm>
#include <utility>

namespace recordfs::leveldb_table {

Result<std::optional<Footer>> read_footer(const RequestContext& context, const Source& source) {
  const std::uint64_t size = source.size();
  const std::uint64_t tail = std::min(size, kRocksDbFooterSize);
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, size - tail, tail));
  if (bytes.size() < tail) return std::optional<Footer>{};
  return parse_footer(bytes.view(), size);
}

namespace {

// Takes a value, or why it cannot be read. Fails with failures that may pass.
template <class T>
Result<void> take(Result<T> read, T& value, std::optional<Error>& flaw) {
  if (!read && !is_permanent(read.error().code)) return std::move(read).error();
  if (read) {
    value = *std::move(read);
  } else {
    flaw = std::move(read).error();
  }
  return {};
}

// Reads the meta index and the index at once if each read takes long, so that reading them needs no further request.
// They also find what cannot be read.
void fetch_tail(const RequestContext& context, const Source& source, const Footer& footer) {
  constexpr std::uint64_t kMostAtOnce = 15u << 20;
  const Position meta = footer.metaindex.begin;
  const Position begin = footer.index ? std::min(meta, footer.index->begin) : meta;
  if (source.filesystem() == 0 || begin >= footer.begin || footer.begin - begin > kMostAtOnce) return;
  auto bytes = Buffer::allocate(context, static_cast<std::size_t>(footer.begin - begin));
  if (bytes) static_cast<void>(source.read_at(context, begin, bytes->span()).has_value());
}

}  // namespace

Dialect Tail::dialect_of_data() const {
  Dialect of_data = dialect;
  of_data.dictionary = dictionary;
  return of_data;
}

Result<Tail> read_tail(const RequestContext& context, const Source& source, const Footer& footer,
                       const Limits& limits) {
  if (!footer.flaw.empty()) return Error{footer.flaw_code, footer.begin, footer.flaw};
  fetch_tail(context, source, footer);
  Tail tail;
  tail.dialect = footer.dialect;
  MetaBlocks& blocks = tail.blocks;
  TRY(take(read_meta_index(context, source, footer.metaindex, footer.dialect, footer.begin, limits), blocks,
           tail.flaw));
  const auto index = footer.index ? footer.index : blocks.index;
  if (!index && tail.flaw) return *std::move(tail.flaw);
  if (!index) return Error{Code::kDamage, footer.metaindex.begin, "the meta index does not name an index"};
  tail.index = *index;
  if (blocks.properties) {
    // An old RocksDB, or format version 0, uses LevelDB's footer with RocksDB's blocks.
    tail.dialect.is_rocksdb = true;
    TRY(take(read_properties(context, source, *blocks.properties, tail.dialect, limits), tail.properties, tail.flaw));
  }
  if (blocks.dictionary) {
    auto read = read_metadata(context, source, *blocks.dictionary, tail.dialect, limits, "the dictionary");
    if (!read && !is_permanent(read.error().code)) return std::move(read).error();
    tail.dictionary = std::make_shared<const Dictionary>(std::move(read));
  }
  return tail;
}

}  // namespace recordfs::leveldb_table
