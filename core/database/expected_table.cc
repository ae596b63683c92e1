#include "core/database/expected_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/database/table.h"
#include "core/formats/leveldb_table/seek.h"
#include "core/hash/xxhash.h"

namespace recordfs::database {
namespace {

using leveldb_table::BlockIterator;
using leveldb_table::BlockList;

// Returns the number that letters and digits state; nullopt if there are other characters.
std::optional<std::uint64_t> number_in_base_36(std::string_view text) {
  std::uint64_t number = 0;
  for (const char letter : text) {
    const bool is_digit = letter >= '0' && letter <= '9';
    const bool is_capital = letter >= 'A' && letter <= 'Z';
    if (!is_digit && !is_capital && !(letter >= 'a' && letter <= 'z')) return std::nullopt;
    constexpr int kDigits = 10;
    const int digit = is_digit ? letter - '0' : letter - (is_capital ? 'A' : 'a') + kDigits;
    number = number * 36 + static_cast<std::uint64_t>(digit);
  }
  return number;
}

// The two halves of the number that is RocksDB's session identifier.
struct Session {
  std::uint64_t high = 0, low = 0;
};

std::optional<Session> session_of(std::string_view identifier) {
  constexpr std::size_t kLowLetters = 12;
  constexpr std::size_t kMostLetters = 24;
  if (identifier.size() <= kLowLetters || identifier.size() > kMostLetters) return std::nullopt;
  const auto high = number_in_base_36(identifier.substr(0, identifier.size() - kLowLetters));
  const auto low = number_in_base_36(identifier.substr(identifier.size() - kLowLetters));
  if (!high || !low) return std::nullopt;
  return Session{.high = *high >> 2, .low = (*low & UINT64_MAX >> 2) | *high << 62};
}

void append_u64_le(std::string& text, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) text += static_cast<char>(number >> shift & 0xff);
}

// The first and the last key of a table; nullopt if it cannot be read.
struct Edges {
  std::optional<std::string> first{}, last{};
};

// Returns nullopt for damage and other failures that do not pass. A reader of the block reports them.
template <class T>
Result<std::optional<T>> if_readable(Result<T> read) {
  if (read) return std::optional<T>(std::move(*read));
  return is_permanent(read.error().code) ? Result<std::optional<T>>(std::nullopt) : std::move(read).error();
}

class EdgeReader {
 public:
  EdgeReader(const RequestContext& context, const Source& source, const Table& table)
      : context_(context), source_(source), table_(table) {}

  Result<Edges> read() const {
    Edges edges;
    if (table_.blocks().size() == 0) return edges;
    ASSIGN_OR_RETURN(const auto first, content(false));
    if (first) edges.first = first_key(*first);
    ASSIGN_OR_RETURN(const auto last, content(true));
    if (last) edges.last = leveldb_table::last_key_of(last->view(), table_.dialect());
    return edges;
  }

 private:
  // Returns the first or the last block.
  Result<std::optional<Buffer>> content(bool is_last) const {
    const BlockList* list = &table_.blocks();
    std::optional<BlockList> part;
    if (table_.has_two_levels()) {
      ASSIGN_OR_RETURN(part, if_readable(table_.read_part(context_, source_, is_last ? list->size() - 1 : 0)));
      if (!part || part->size() == 0) return std::optional<Buffer>();
      list = &*part;
    }
    return if_readable(table_.read_data(context_, source_, list->place(is_last ? list->size() - 1 : 0)));
  }

  std::optional<std::string> first_key(const Buffer& block) const {
    const auto entries = BlockIterator::over(block.view(), table_.dialect());
    if (!entries || !entries->is_valid() || entries->has_skipped()) return std::nullopt;
    return std::string(as_text(entries->key()));
  }

  const RequestContext& context_;
  const Source& source_;
  const Table& table_;
};

// Returns whether a key of a table cannot be the first or the last one of the table that the MANIFEST describes.
bool contradicts(const Table& table, Bytes stored, Bytes bound, bool is_last, const KeyOrder& order) {
  const bool is_stored_as_is = !table.dialect().is_rocksdb && !table.sequence_of_all();
  if (is_stored_as_is && table.range_deletions().empty()) return !std::ranges::equal(stored, bound);
  const Bytes key = table.order().user_key(user_key_of(stored));
  const Bytes expected = order.user_key(user_key_of(bound));
  if (table.range_deletions().empty()) return !std::ranges::equal(key, expected);
  const KeyOrder users = order.of_user_keys();
  return order.is_known() && (is_last ? users.is_before(expected, key) : users.is_before(key, expected));
}

// Returns whether the keys of a table are not in the order of its family.
bool has_other_order(const leveldb_table::Properties& table, std::string_view comparator) {
  if (table.comparator.empty() || comparator.empty() || table.comparator == comparator) return false;
  const auto without_timestamps = [](std::string_view name) {
    return name.substr(0, name.size() - (name.ends_with(kWithTimestamps) ? kWithTimestamps.size() : 0));
  };
  if (without_timestamps(table.comparator) != without_timestamps(comparator)) return true;
  return table.has_timestamps && table.comparator.ends_with(kWithTimestamps);
}

}  // namespace

std::optional<std::string> unique_id_of(const leveldb_table::Properties& properties) {
  const auto session = session_of(properties.session_id);
  if (!session || properties.database_id.empty() || properties.original_number == 0) return std::nullopt;
  std::string id;
  append_u64_le(id, session->low);
  append_u64_le(id, xxh3_128(as_bytes(properties.database_id), session->high).high ^ properties.original_number);
  return id;
}

Result<std::optional<Error>> compare_with_manifest(const RequestContext& context, const Source& source,
                                                   const Table& table, const ExpectedTable& expected,
                                                   const KeyOrder& order) {
  const auto other = std::optional(
      Error{.code = Code::kDamage, .detail = "the file is not the table that the MANIFEST names, but another one"});
  if (has_other_order(table.properties(), expected.comparator)) {
    return std::optional(Error{
        .code = Code::kDamage,
        .detail = fmt::format("the keys of the table are in the order of {}, and those of its family in that of {}",
                              table.properties().comparator, expected.comparator)});
  }
  const auto id = unique_id_of(table.properties());
  if (id && !expected.unique_id.empty()) return *id == expected.unique_id ? std::nullopt : other;
  const bool has_keys = expected.smallest.size() >= kTagSize && expected.largest.size() >= kTagSize;
  if (!has_keys) return std::optional<Error>();
  ASSIGN_OR_RETURN(const Edges edges, EdgeReader(context, source, table).read());
  const auto differs = [&](const std::optional<std::string>& key, std::string_view bound, bool is_last) {
    return key && key->size() >= kTagSize && contradicts(table, as_bytes(*key), as_bytes(bound), is_last, order);
  };
  const bool is_other = differs(edges.first, expected.smallest, false) || differs(edges.last, expected.largest, true);
  return is_other ? other : std::nullopt;
}

Result<bool> is_named_table(const RequestContext& context, const Source& source, const Table& table,
                            const ExpectedTable& expected) {
  if (table.dialect().is_rocksdb) return unique_id_of(table.properties()) == expected.unique_id;
  ASSIGN_OR_RETURN(const Edges edges, EdgeReader(context, source, table).read());
  return edges.first == expected.smallest && edges.last == expected.largest;
}

}  // namespace recordfs::database
