#include "tests/bench/data/transposed.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "tests/bench/data/riegeli_data.h"
#include "tests/bench/data/wire.h"

namespace recordfs::bench {
namespace {

// Values of a node's tag with a meaning other than a field's tag.
constexpr std::uint64_t kSubmessageBegins = 2;
constexpr std::uint64_t kRecordBegins = 3;
constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kEndOfSubmessage = 4;  // added to the tag
constexpr unsigned kMostBytes = 5;             // of a varint in these messages
constexpr std::uint8_t kMostFollowed = 3;      // transitions that one byte can represent besides its own

[[noreturn]] void give_up() {
  std::fputs("make_data: a record is no message that can be taken apart\n", stderr);
  std::exit(1);
}

// --- parsing a message

class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  std::string_view varint(std::uint64_t tag) {
    expect(tag);
    std::size_t size = 1;
    while (size < rest_.size() && (rest_[size - 1] & 0x80) != 0) ++size;
    return take(size);
  }
  std::string_view fixed64(std::uint64_t tag) {
    expect(tag);
    return take(8);
  }
  // Includes the length prefix.
  std::string_view bytes(std::uint64_t tag) {
    expect(tag);
    std::uint64_t length = 0;
    std::size_t used = 0;
    do {
      length |= (static_cast<std::uint64_t>(at(used)) & 0x7F) << (7 * used);
    } while ((at(used++) & 0x80) != 0);
    length_size_ = used;
    return take(used + length);
  }
  // Returns the bytes from bytes() without their length prefix.
  std::string_view contents(std::string_view bytes) const { return bytes.substr(length_size_); }

 private:
  char at(std::size_t index) const {
    if (index >= rest_.size()) give_up();
    return rest_[index];
  }
  void expect(std::uint64_t tag) {
    if (static_cast<std::uint64_t>(at(0)) != tag) give_up();
    rest_.remove_prefix(1);
  }
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) give_up();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  std::size_t length_size_ = 0;
};

struct Event {
  std::string_view number, time, level, worker, text;  // as stored, without their tags
  std::string_view shard, replica, path;               // of the place
};

constexpr std::uint64_t tag(std::uint64_t field, std::uint64_t wire_type) { return field << 3 | wire_type; }

Event read_event(std::string_view record) {
  Event event;
  MessageReader outer(record);
  event.number = outer.varint(tag(1, 0));
  event.time = outer.fixed64(tag(2, 1));
  event.level = outer.varint(tag(3, 0));
  event.worker = outer.bytes(tag(4, 2));
  const std::string_view place = outer.bytes(tag(5, 2));
  MessageReader inner(outer.contents(place));
  event.shard = inner.varint(tag(1, 0));
  event.replica = inner.varint(tag(2, 0));
  event.path = inner.bytes(tag(3, 2));
  event.text = outer.bytes(tag(6, 2));
  return event;
}

// --- the state machine

// A step of the state machine, which reads the fields in reverse order. A varint field has a node for each length.
struct Step {
  std::uint64_t tag;
  std::string_view Event::*field = nullptr;  // null: no buffer is read
  bool is_varint() const { return field != nullptr && tag % 8 == kVarint; }
};

constexpr std::array kSteps = {
    Step{tag(6, 2), &Event::text},
    Step{tag(5, 2) + kEndOfSubmessage},
    Step{tag(3, 2), &Event::path},
    Step{tag(2, 0), &Event::replica},
    Step{tag(1, 0), &Event::shard},
    Step{kSubmessageBegins},
    Step{tag(4, 2), &Event::worker},
    Step{tag(3, 0), &Event::level},
    Step{tag(2, 1), &Event::time},
    Step{tag(1, 0), &Event::number},
    Step{kRecordBegins},
};

struct Node {
  std::uint64_t tag = 0;
  std::uint8_t subtype = 0;
  bool is_varint = false;
  bool reads = false;
  std::size_t buffer = 0;
  std::size_t step = 0;
};

// The nodes, buffers and transitions of one chunk.
class Transposer {
 public:
  explicit Transposer(const std::vector<Event>& events) : events_(events) {
    for (std::size_t step = 0; step < kSteps.size(); ++step) add_nodes(step);
    std::for_each(events_.rbegin(), events_.rend(), [this](const Event& event) { put(event); });
  }

  std::string header(std::size_t stored_bucket) const {
    std::string out;
    put_varint(out, 1);
    put_varint(out, buffers_.size());
    put_varint(out, stored_bucket);
    for (const std::string& buffer : buffers_) put_varint(out, buffer.size());
    put_varint(out, nodes_.size());
    for (const Node& node : nodes_) put_varint(out, node.tag);
    for (const Node& node : nodes_) put_varint(out, successor(node));
    for (const Node& node : nodes_) {
      if (node.is_varint) out.push_back(static_cast<char>(node.subtype));
    }
    for (const Node& node : nodes_) {
      if (node.reads) put_varint(out, node.buffer);
    }
    put_varint(out, first_of_.front());
    return out;
  }

  std::string bucket() const {
    std::string all;
    for (const std::string& buffer : buffers_) all += buffer;
    return all;
  }

  // One byte for each choice; up to three following first choices share it.
  std::string transitions() const {
    std::string out;
    for (const std::uint8_t choice : choices_) {
      const bool follows = choice == 0 && !out.empty() && (out.back() & kMostFollowed) < kMostFollowed;
      if (follows) {
        ++out.back();
      } else {
        out.push_back(static_cast<char>(choice << 2));
      }
    }
    return out;
  }

 private:
  void add_nodes(std::size_t step) {
    const Step& what = kSteps[step];
    first_of_.push_back(nodes_.size());
    Node node{.tag = what.tag, .is_varint = what.is_varint(), .reads = what.field != nullptr, .step = step};
    if (node.reads) {
      node.buffer = buffers_.size();
      buffers_.emplace_back();
    }
    if (!node.is_varint) {
      nodes_.push_back(node);
      return;
    }
    for (const std::size_t size : sizes_by_frequency(what.field)) {
      node.subtype = static_cast<std::uint8_t>(size - 1);
      nodes_.push_back(node);
    }
  }

  std::vector<std::size_t> sizes_by_frequency(std::string_view Event::*field) const {
    std::array<std::size_t, kMostBytes + 1> counts{};
    for (const Event& event : events_) ++counts.at((event.*field).size());
    std::vector<std::size_t> sizes;
    for (std::size_t size = 1; size < counts.size(); ++size) {
      if (counts[size] != 0) sizes.push_back(size);
    }
    std::ranges::stable_sort(sizes, [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    return sizes;
  }

  std::size_t nodes_of(std::size_t step) const {
    return (step + 1 < first_of_.size() ? first_of_[step + 1] : nodes_.size()) - first_of_[step];
  }

  // A step with one node needs no byte. But the first step takes one, or the sequence would never end.
  bool has_choice(std::size_t step) const { return step == 0 || nodes_of(step) > 1; }

  std::size_t successor(const Node& node) const {
    const std::size_t next = (node.step + 1) % kSteps.size();
    return has_choice(next) ? first_of_[next] : nodes_.size() + first_of_[next];
  }

  std::uint8_t choice_of(std::size_t step, std::size_t size) const {
    for (std::size_t i = 0; i < nodes_of(step); ++i) {
      if (nodes_[first_of_[step] + i].subtype == size - 1) return static_cast<std::uint8_t>(i);
    }
    give_up();
  }

  void put(const Event& event) {
    const bool is_first = choices_.empty() && buffers_.front().empty();
    for (std::size_t step = 0; step < kSteps.size(); ++step) {
      const Step& what = kSteps[step];
      const std::string_view value = what.field != nullptr ? event.*what.field : std::string_view();
      if (has_choice(step) && !(step == 0 && is_first))
        choices_.push_back(what.is_varint() ? choice_of(step, value.size()) : 0);
      if (what.field == nullptr) continue;
      std::string& buffer = buffers_[nodes_[first_of_[step]].buffer];
      for (const char byte : value) buffer.push_back(what.is_varint() ? static_cast<char>(byte & 0x7F) : byte);
    }
  }

  const std::vector<Event>& events_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> first_of_;  // node of each step
  std::vector<std::string> buffers_;
  std::vector<std::uint8_t> choices_;
};

}  // namespace

PackedChunk transposed_chunk(const Batch& batch, Packing packing) {
  std::vector<Event> events;
  for (const std::string& record : batch.records()) events.push_back(read_event(record));
  const Transposer transposer(events);
  const Part bucket = part_of(packing, transposer.bucket());
  const Part header = part_of(packing, transposer.header(bucket.length()));
  PackedChunk chunk{.stored = std::string(1, compression_type(packing)), .check = Check::kHighway};
  put_varint(chunk.stored, header.length());
  append(chunk, header);
  append(chunk, bucket);
  append(chunk, part_of(packing, transposer.transitions()));
  chunk.records = batch.records().size();
  chunk.record_bytes = batch.bytes();
  return chunk;
}

}  // namespace recordfs::bench
