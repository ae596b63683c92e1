#include "core/formats/riegeli/transposed/program.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/request_context.h"

namespace recordfs::riegeli::transposed {
namespace {

// Parses `count` lengths, each at least one byte long.
Result<std::vector<std::uint64_t>> parse_lengths(const RequestContext& context, Cursor& header, std::uint32_t count,
                                                 std::uint64_t limit) {
  if (count > header.remaining()) return damage("more lengths than the header holds");
  if (count > limit) {
    return Error{.code = Code::kLimit,
                 .detail = fmt::format("{} buffers or buckets where the output can use {}", count, limit)};
  }
  context.announce(count * sizeof(std::uint64_t));
  std::vector<std::uint64_t> lengths(count);
  for (std::uint64_t& length : lengths) length = header.varint64();
  if (!header.ok()) return damage("truncated header");
  return lengths;
}

Result<std::uint64_t> sum_within(const std::vector<std::uint64_t>& lengths, std::uint64_t limit) {
  std::uint64_t left = limit;
  for (const std::uint64_t length : lengths) {
    if (length > left) {
      return Error{.code = Code::kLimit, .detail = fmt::format("the buffers are longer than {} bytes", limit)};
    }
    left -= length;
  }
  return limit - left;
}

// Cuts the buffers from the buckets in order. Opens a bucket when the previous one is used up.
class Cutter {
 public:
  Cutter(const RequestContext& context, CodecId codec, Cursor& data, const std::vector<std::uint64_t>& stored,
         std::uint64_t content, std::size_t buffer_count)
      : codec_(codec), data_(data), stored_(stored), left_(content) {
    context.announce(stored.size() * sizeof(UnitContent) + buffer_count * sizeof(Bytes));
    result_.buckets.reserve(stored.size());
    result_.buffers.reserve(buffer_count);
  }

  Result<void> open_next(const RequestContext& context) {
    const Bytes stored = data_.take(stored_[result_.buckets.size()]);
    if (!data_.ok()) return damage("a bucket is longer than the chunk");
    auto bucket = open_unit(context, codec_, stored, left_);
    if (!bucket && bucket.error().code == Code::kLimit) return damage("a bucket is longer than its buffers");
    if (!bucket) return std::move(bucket).error();
    left_ -= bucket->bytes().size();
    rest_ = bucket->bytes();
    result_.buckets.push_back(std::move(*bucket));
    return {};
  }

  bool has_next() const { return result_.buckets.size() < stored_.size(); }
  bool used_up() const { return rest_.empty(); }

  Result<void> cut(const RequestContext& context, std::uint64_t length) {
    if (length > rest_.size()) return damage("a buffer is longer than its bucket");
    result_.buffers.push_back(rest_.first(static_cast<std::size_t>(length)));
    rest_ = rest_.subspan(static_cast<std::size_t>(length));
    while (used_up() && has_next()) {
      TRY(open_next(context));
    }
    return {};
  }

  Buffers take() { return std::move(result_); }

 private:
  const CodecId codec_;
  Cursor& data_;
  const std::vector<std::uint64_t>& stored_;
  std::uint64_t left_;  // bytes of all buffers that the opened buckets do not contain
  Bytes rest_;          // unused part of the bucket opened last
  Buffers result_;
};

// Tags below 8 are not fields.
constexpr std::uint32_t kTagNothing = 0;
constexpr std::uint32_t kTagPlainRecord = 1;
constexpr std::uint32_t kTagSubmessageStart = 2;
constexpr std::uint32_t kTagRecordStart = 3;
constexpr std::uint32_t kFirstFieldTag = 8;

// The kind of a field: its tag mod 8. All but the last are protobuf wire types.
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kLengthDelimited = 2;
constexpr std::uint32_t kGroupStart = 3;
constexpr std::uint32_t kGroupEnd = 4;
constexpr std::uint32_t kFixed32 = 5;
constexpr std::uint32_t kSubmessageEnd = 6;

// The subtype of a varint: its length minus 1, or its value.
constexpr std::uint32_t kLongestVarint = 10;
constexpr std::uint32_t kInlineValues = 128;
constexpr std::uint32_t kWordSize = 8;
// A tag and the index of the successor take at least a byte each.
constexpr std::size_t kLeastBytesPerNode = 2;

// Appends a byte to the constant of the node.
void append_constant(Node& node, std::uint8_t byte) {
  node.constant = node.constant >> 8 | std::uint64_t{byte} << 56;
  ++node.constant_size;
}

void set_tag(Node& node, std::uint32_t tag) {
  for (; tag >= 0x80; tag >>= 7) append_constant(node, static_cast<std::uint8_t>(tag | 0x80));
  append_constant(node, static_cast<std::uint8_t>(tag));
}

void set_value(Node& node, std::uint32_t size) {
  node.action = Action::kValue;
  node.value_size = static_cast<std::uint8_t>(size);
}

// Returns false if the tag names no kind of node.
bool set_kind(Node& node, std::uint32_t tag) {
  if (tag < kFirstFieldTag) {
    switch (tag) {
      case kTagNothing: return true;
      case kTagPlainRecord: node.action = Action::kPlainRecord; return true;
      case kTagSubmessageStart: node.action = Action::kSubmessageStart; return true;
      case kTagRecordStart: node.action = Action::kRecordStart; return true;
      default: return false;
    }
  }
  const std::uint32_t kind = tag % 8;
  set_tag(node, kind == kSubmessageEnd ? tag - kSubmessageEnd + kLengthDelimited : tag);
  switch (kind) {
    case kVarint: return true;  // its subtype follows
    case kFixed64: set_value(node, 8); return true;
    case kFixed32: set_value(node, 4); return true;
    case kLengthDelimited: node.action = Action::kString; return true;
    case kGroupStart:
    case kGroupEnd: node.action = Action::kConstant; return true;
    case kSubmessageEnd: node.action = Action::kSubmessageEnd; return true;
    default: return false;
  }
}

bool is_varint(const Node& node) { return node.action == Action::kNothing && node.constant_size > 0; }

bool set_subtype(Node& node, std::uint32_t subtype) {
  if (subtype < kLongestVarint) {
    set_value(node, subtype + 1);
    if (node.value_size > kWordSize) node.action = Action::kLongVarint;
    for (std::uint32_t i = 1; i < node.value_size && i < kWordSize; ++i) {
      node.continuation |= std::uint64_t{0x80} << (8 * (kWordSize - 1 - i));
    }
    return true;
  }
  if (subtype - kLongestVarint >= kInlineValues) return false;
  node.action = Action::kConstant;
  append_constant(node, static_cast<std::uint8_t>(subtype - kLongestVarint));
  return true;
}

bool reads_buffer(const Node& node) {
  return node.action == Action::kValue || node.action == Action::kLongVarint || node.action == Action::kString ||
         node.action == Action::kPlainRecord;
}

Result<void> parse_kinds(Cursor& header, std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    if (!set_kind(node, header.varint32())) return damage("a node of an unknown kind");
  }
  return {};
}

Result<void> parse_successors(Cursor& header, std::vector<Node>& nodes) {
  const auto count = static_cast<std::uint32_t>(nodes.size());
  for (Node& node : nodes) {
    const std::uint32_t next = header.varint32();
    node.implicit = next >= count;
    node.next = node.implicit ? next - count : next;
    if (node.next >= count) return damage("a node is followed by one that does not exist");
  }
  return {};
}

Result<void> parse_subtypes(Cursor& header, std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    if (is_varint(node) && !set_subtype(node, header.u8())) return damage("a varint of an unknown subtype");
  }
  return {};
}

Result<void> parse_buffers(Cursor& header, std::vector<Node>& nodes, std::size_t buffer_count) {
  for (Node& node : nodes) {
    if (!reads_buffer(node)) {
      node.buffer = static_cast<std::uint32_t>(buffer_count);
      continue;
    }
    node.buffer = header.varint32();
    if (node.buffer >= buffer_count) return damage("a node reads a buffer that does not exist");
  }
  return {};
}

// Fails if implicit successors form a loop, which would never end.
Result<void> check_implicit_loops(const std::vector<Node>& nodes) {
  std::vector<std::uint32_t> walked_from(nodes.size(), 0);
  for (std::uint32_t begin = 0; begin < nodes.size(); ++begin) {
    std::uint32_t at = begin;
    while (nodes[at].implicit && walked_from[at] == 0) {
      walked_from[at] = begin + 1;
      at = nodes[at].next;
    }
    if (nodes[at].implicit && walked_from[at] == begin + 1) return damage("nodes follow each other in an endless loop");
  }
  return {};
}

// Shortens each run of idle implicit nodes to one node, so that a run costs at most one step. REQUIRES:
// check_implicit_loops() succeeded.
void shorten_idle_runs(std::vector<Node>& nodes) {
  const auto is_idle = [&](std::uint32_t at) { return nodes[at].implicit && nodes[at].action == Action::kNothing; };
  for (std::uint32_t begin = 0; begin < nodes.size(); ++begin) {
    std::uint32_t end = begin;
    while (is_idle(end)) end = nodes[end].next;
    for (std::uint32_t at = begin; at != end;) at = std::exchange(nodes[at].next, end);
  }
}

}  // namespace

Result<Buffers> open_buffers(const RequestContext& context, Cursor& header, Cursor& data, CodecId codec,
                             const BufferLimits& limits) {
  const std::uint32_t bucket_count = header.varint32();
  const std::uint32_t buffer_count = header.varint32();
  ASSIGN_OR_RETURN(const auto stored, parse_lengths(context, header, bucket_count, limits.count));
  ASSIGN_OR_RETURN(const auto lengths, parse_lengths(context, header, buffer_count, limits.count));
  if (stored.empty() && !lengths.empty()) return damage("buffers without a bucket");
  ASSIGN_OR_RETURN(const auto content, sum_within(lengths, limits.bytes));
  Cutter cutter(context, codec, data, stored, content, lengths.size());
  if (cutter.has_next()) {
    TRY(cutter.open_next(context));
  }
  for (const std::uint64_t length : lengths) {
    if (auto cut = cutter.cut(context, length); !cut) return std::move(cut).error();
  }
  if (!cutter.used_up() || cutter.has_next()) return damage("a bucket is not used up by its buffers");
  return cutter.take();
}

Result<Program> parse_program(const RequestContext& context, Cursor& header, std::size_t buffer_count,
                              std::uint64_t node_limit) {
  const std::uint32_t count = header.varint32();
  if (count > header.remaining() / kLeastBytesPerNode) return damage("more nodes than the header holds");
  if (count > node_limit) {
    return Error{.code = Code::kLimit,
                 .detail = fmt::format("{} nodes where the output can use {}", count, node_limit)};
  }
  Program program;
  context.announce(count * sizeof(Node));
  program.nodes.resize(count);
  for (const auto& parse : {parse_kinds, parse_successors, parse_subtypes}) {
    TRY(parse(header, program.nodes));
  }
  TRY(parse_buffers(header, program.nodes, buffer_count));
  program.first = header.varint32();
  if (!header.ok()) return damage("truncated header");
  if (!header.at_end()) return damage("bytes after the end of the header");
  if (program.first >= count) return damage("the first node does not exist");
  TRY(check_implicit_loops(program.nodes));
  shorten_idle_runs(program.nodes);
  return program;
}

}  // namespace recordfs::riegeli::transposed
