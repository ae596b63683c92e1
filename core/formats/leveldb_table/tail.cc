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

Result<Tail> read_tail(const RequestContext& context, const Source& source, const Footer& footer,
                       const Limits& limits) {
  if (!footer.flaw.empty()) return Error{footer.flaw_code, footer.begin, footer.flaw};
  Tail tail;
  tail.dialect = footer.dialect;
  auto blocks = read_meta_index(context, source, footer.metaindex, footer.dialect, footer.begin, limits);
  if (!blocks && !is_permanent(blocks.error().code)) return std::move(blocks).error();
  if (blocks) {
    tail.blocks = *std::move(blocks);
  } else {
    tail.flaw = std::move(blocks).error();
  }
  const auto index = footer.index ? footer.index : tail.blocks.index;
  if (!index && tail.flaw) return *std::move(tail.flaw);
  if (!index) return Error{Code::kDamage, footer.metaindex.begin, "the meta index does not name an index"};
  tail.index = *index;
  if (!tail.blocks.properties) return tail;
  // An old RocksDB, or format version 0, uses LevelDB's footer with RocksDB's blocks.
  tail.dialect.is_rocksdb = true;
  auto properties = read_properties(context, source, *tail.blocks.properties, tail.dialect, limits);
  if (!properties && !is_permanent(properties.error().code)) return std::move(properties).error();
  if (properties) {
    tail.properties = *std::move(properties);
  } else {
    tail.flaw = std::move(properties).error();
  }
  return tail;
}

Result<std::shared_ptr<const Dictionary>> read_dictionary(const RequestContext& context, const Source& source,
                                                          const Tail& tail, const Limits& limits) {
  if (!tail.blocks.dictionary) return std::shared_ptr<const Dictionary>();
  auto read = read_metadata(context, source, *tail.blocks.dictionary, tail.dialect, limits, "the dictionary");
  if (!read && !is_permanent(read.error().code)) return std::move(read).error();
  return std::make_shared<const Dictionary>(std::move(read));
}

}  // namespace recordfs::leveldb_table
