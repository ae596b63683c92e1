#include "core/formats/riegeli/transposed/program.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/request_context.h"
#include "core/formats/riegeli/transposed/buffers.h"

namespace recordfs::riegeli::transposed {
namespace {

// Tags below 8 are not fields.
constexpr std::uint32_t kTagNothing = 0;
constexpr std::uint32_t kTagPlainRecord = 1;
constexpr std::uint32_t kTagSubmessageStart = 2;
constexpr std::uint32_t kTagRecordStart = 3;
constexpr std::uint32_t kFirstFieldTag = kKinds;

// The other kinds of fields. All but the last are wire types of protobuf.
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kLengthDelimited = 2;
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

void append_tag(Node& node, std::uint32_t tag) {
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
  const std::uint32_t kind = tag % kKinds;
  node.tag = kind == kSubmessageEnd ? tag - kSubmessageEnd + kLengthDelimited : tag;
  append_tag(node, node.tag);
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
