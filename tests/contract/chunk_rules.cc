#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "core/formats/field_projection.h"
#include "tests/contract/rules.h"

namespace recordfs::contract {
namespace {

using Held = std::shared_ptr<const Chunk>;

constexpr std::uint64_t kInsides = 50;  // records of a chunk whose values and key changes are checked

bool leaves(const Extent& extent, std::uint64_t size) {
  return extent.begin > size || extent.size > size - extent.begin;
}

// Whether a slice, if not empty, is outside of the record.
bool leaves(Bytes slice, Bytes record) {
  return !slice.empty() &&
         leaves({static_cast<std::uint64_t>(slice.data() - record.data()), slice.size()}, record.size());
}

// Whether all bytes of a value are in the record.
bool is_inside(const Value& value, Bytes record) {
  if (const auto* bytes = std::get_if<Bytes>(&value.is)) return !leaves(*bytes, record);
  if (const auto* message = std::get_if<Message>(&value.is)) return !leaves(message->bytes, record);
  const auto is_inside_too = [record](const Value& below) { return is_inside(below, record); };
  if (const auto* list = std::get_if<Value::List>(&value.is)) return std::ranges::all_of(*list, is_inside_too);
  const auto* object = std::get_if<Value::Object>(&value.is);
  return object == nullptr || std::ranges::all_of(*object, is_inside_too, &Member::value);
}

// Whether a value conforms to value.h.
bool is_right(const Value& value, ValueForm form, std::uint32_t depth) {
  if (depth == 0) return false;
  const auto is_right_below = [form, depth](const Value& below) { return is_right(below, form, depth - 1); };
  if (const auto* list = std::get_if<Value::List>(&value.is)) return std::ranges::all_of(*list, is_right_below);
  const auto* object = std::get_if<Value::Object>(&value.is);
  if (object == nullptr) return true;
  std::set<std::string_view> names;
  return std::ranges::all_of(*object, [&](const Member& member) {
    const bool is_new = form == ValueForm::kParts || member.name.empty() || names.insert(member.name).second;
    return is_new && is_right_below(member.value);
  });
}

class ChunkCheck {
 public:
  ChunkCheck(const Container& container, const ChunkInfo& info) : container_(container), info_(info) {}

  Violations run(std::uint64_t seed) {
    const auto decoded = container_.decode({}, info_);
    compare_verify(decoded);
    compare_layout(decoded);
    if (decoded) compare_header((*decoded)->layout());
    if (decoded) compare_parts(**decoded, seed);
    if (decoded) check_insides(**decoded);
    compare_fields(decoded);
    return std::move(broken_);
  }

 private:
  void expect(bool held, std::string_view what) {
    if (!held) broken_.push_back(fmt::format("{}: {}", to_string(info_), what));
  }

  void compare_verify(const Result<Held>& decoded) {
    const auto verified = container_.verify({}, info_);
    const bool is_whole = decoded && !(*decoded)->layout().has_failures();
    if (is_whole) expect(verified.has_value(), "decode succeeds and verify fails");
    // verify() need not enforce the limits on decoded data.
    if (!verified && !decoded && decoded.error().code != Code::kLimit) {
      expect(verified.error().code == decoded.error().code, "verify and decode fail with different codes");
    }
  }

  void compare_layout(const Result<Held>& decoded) {
    const auto layout = container_.layout({}, info_);
    if (decoded) expect(layout.has_value(), "decode succeeds and layout fails");
    if (!layout || !decoded) return;
    const Layout& other = (*decoded)->layout();
    expect(layout->records() == other.records(), "layout and decode disagree about the number of records");
    for (std::uint64_t i = 0; i < std::min(layout->records(), other.records()); ++i) compare_record(*layout, other, i);
  }

  void compare_record(const Layout& a, const Layout& b, std::uint64_t index) {
    const bool same = a.extent(index).begin == b.extent(index).begin && a.extent(index).size == b.extent(index).size;
    expect(same, fmt::format("layout and decode disagree about the position of record {}", index));
    const Error* const of_a = a.failure(index);
    const Error* const of_b = b.failure(index);
    // A layout that is cheaper than decoding may report a broken compressed record as readable. Only decode reads all
    // bytes, so it may find more unreadable records.
    expect(of_a == nullptr || (of_b != nullptr && of_a->code == of_b->code),
           fmt::format("decode loses the reason why record {} is unreadable", index));
  }

  // A format may leave out fields, but no records. It may not find damage in what it leaves out.
  void compare_fields(const Result<Held>& decoded) {
    FieldProjection fields;
    fields.add(std::vector<std::uint32_t>{1});
    const auto some = container_.decode_fields({}, info_, fields);
    if (!some) {
      expect(!decoded && decoded.error().code == some.error().code, "decode_fields fails unlike decode");
      return;
    }
    const Layout& layout = (*some)->layout();
    expect(layout.end() <= (*some)->payload_size(), "records without some fields extend beyond the payload");
    if (!decoded) return;
    const Layout& whole = (*decoded)->layout();
    expect(layout.records() == whole.records(), "decode_fields and decode disagree about the number of records");
    for (std::uint64_t i = 0; i < std::min(layout.records(), whole.records()); ++i) {
      expect(layout.extent(i).size <= whole.extent(i).size, fmt::format("record {} grows without some fields", i));
    }
  }

  bool costs_decode() const { return info_.layout_cost == LayoutCost::kDecode; }

  void compare_header(const Layout& layout) {
    expect(!info_.records || *info_.records == layout.records(), "the header declares another number of records");
    expect(!info_.decoded_size || *info_.decoded_size == layout.total(), "the header declares another decoded size");
  }

  void compare_parts(const Chunk& whole, std::uint64_t seed) {
    expect(whole.layout().end() <= whole.payload_size(), "records extend beyond the payload");
    const auto parts = container_.open_in_place({}, info_);
    expect(parts.has_value(), "decode succeeds and open_in_place fails");
    if (!parts || !*parts) return;
    const Layout& layout = (*parts)->layout();
    expect(layout.records() == whole.layout().records(), "the parts contain another number of records");
    if (layout.records() != whole.layout().records()) return;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20 && layout.records() > 0; ++i)
      compare_range(whole, **parts, random() % layout.records(), random());
    if (!whole.layout().has_failures()) compare_all(whole, **parts);
  }

  // Records are consecutive, so one read may return several.
  void compare_all(const Chunk& whole, const Chunk& parts) {
    const auto of_whole = whole.read({}, whole.layout().first_begin(), whole.layout().total());
    const auto of_parts = parts.read({}, parts.layout().first_begin(), parts.layout().total());
    expect(of_whole.has_value() == of_parts.has_value(), "all records together are readable in only one way");
    if (of_whole && of_parts) {
      expect(as_text(of_whole->bytes) == as_text(of_parts->bytes), "all records together have other bytes by parts");
    }
  }

  void compare_range(const Chunk& whole, const Chunk& parts, std::uint64_t index, std::uint64_t random) {
    const Extent a = whole.layout().extent(index);
    const Extent b = parts.layout().extent(index);
    expect(a.size == b.size, fmt::format("record {} has another size when read by parts", index));
    if (a.size != b.size || whole.layout().failure(index)) return;
    const std::uint64_t from = random % (a.size + 1);
    const std::uint64_t length = (random >> 32) % (a.size - from + 1);
    const auto of_whole = whole.read({}, a.begin + from, length);
    const auto of_parts = parts.read({}, b.begin + from, length);
    // Data that is decoded on demand may turn out to be broken, but then both chunks have to fail.
    expect(of_whole.has_value() == of_parts.has_value(),
           fmt::format("record {} is readable in only one way [{}, +{})", index, from, length));
    if (of_whole && of_parts) {
      expect(as_text(of_whole->bytes) == as_text(of_parts->bytes),
             fmt::format("record {} has other bytes when read by parts", index));
    }
  }

  void check_insides(const Chunk& whole) {
    const RecordSchema& schema = container_.schema();
    if (!schema.value && !schema.change_kinds) return;
    const Layout& layout = whole.layout();
    for (std::uint64_t i = 0; i < std::min(layout.records(), kInsides); ++i) {
      if (layout.failure(i) != nullptr) continue;
      const auto record = whole.read({}, layout.extent(i).begin, layout.extent(i).size);
      if (record && schema.value) check_value(record->bytes, i, ValueForm::kJson);
      if (record && schema.parts != RecordSchema::Parts::kNone) check_value(record->bytes, i, ValueForm::kParts);
      if (record && schema.change_kinds) check_changes(record->bytes, i);
    }
  }

  void expect_own_reason(const Error& error, std::uint64_t index) {
    const Code code = error.code;
    expect(code == Code::kDamage || code == Code::kLimit || code == Code::kOutOfMemory,
           fmt::format("the value of record {} fails with an error that is not in the bytes", index));
  }

  void check_value(Bytes record, std::uint64_t index, ValueForm form) {
    const auto value = container_.schema().value(record, form);
    if (!value) return expect_own_reason(value.error(), index);
    expect(is_right(*value, form, Limits{}.nesting_depth), fmt::format("record {} has an invalid value", index));
    expect(is_inside(*value, record), fmt::format("a value extends beyond record {}", index));
  }

  void check_changes(Bytes record, std::uint64_t index) {
    std::uint64_t taken = 0;
    const auto handed = container_.schema().change_kinds(record, [&](KeyChangeKind) { ++taken; });
    if (handed) return;
    expect(taken == 0, fmt::format("record {} returns changes and then fails", index));
    expect_own_reason(handed.error(), index);
  }

  const Container& container_;
  const ChunkInfo& info_;
  Violations broken_;
};

}  // namespace

Violations check_chunk(const Container& container, const ChunkInfo& chunk, std::uint64_t seed) {
  return ChunkCheck(container, chunk).run(seed);
}

}  // namespace recordfs::contract
