// A container format made up for tests, with a knob for each thing in which real formats differ. What
// a file holds is a Shape, and is written into the file; what a running test watches is a Watch.
//
//   file   head, chunks
//   head   "toyfile\n", u32 size of the head, u32 flags, u32 stride, attributes, trailer, u32 check
//   chunk  "TOY\n", u32 payload size, u32 records, u32 flags, u32 payload check, u32 header check,
//          payload: one u32 size for each record (top bit: can't be read), then the records
//   record of a file with parts: for each part u32 number of its directory from 1 (0: at the top), u32 kind,
//          u32 length of the key, key, u32 length of the bytes, bytes
//
// Numbers are little-endian, checks are FNV-1a. A chunk's stride is the distance between two chunks
// and makes a file seekable; stride 0 packs the chunks and leaves a reader to search for their magic.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/formats/registry.h"

namespace recordfs::toy {

// A part of a record; `parent` as in Part.
struct PartShape {
  std::string key;
  std::optional<std::size_t> parent{};
  PartKind kind = PartKind::kDirectory;
  std::string bytes{};  // of a file, slice or text
};

// What make_file() puts into a file. Chunks and records are told by their number, from 0.
struct Shape {
  std::uint64_t chunks = 4;
  std::uint64_t records_per_chunk = 3;
  std::function<std::size_t(std::uint64_t ordinal)> record_size{};  // null: 20 + ordinal % 7
  // What is inside a record, whose bytes and size follow from it; null: records have no parts.
  std::function<std::vector<PartShape>(std::uint64_t ordinal)> parts{};
  std::set<std::uint64_t> broken_parts{};  // readable records whose parts can't be told
  bool seekable = true;
  bool counts_in_header = true;                  // otherwise only layout() knows ChunkInfo::records and decoded_size
  bool small_layout = true;                      // otherwise LayoutCost::kDecode
  bool by_parts = false;                         // whether decode_by_parts() gives a chunk
  std::set<std::uint64_t> broken_headers{};      // chunks that the walk does not find
  std::set<std::uint64_t> broken_payloads{};     // chunks that scan finds and decode refuses with kDamage
  std::set<std::uint64_t> unsupported{};         // chunks that scan finds and decode refuses with kUnsupported
  std::set<std::uint64_t> unreadable_records{};  // records of sound chunks with a Layout::failure
  std::vector<Attribute> attributes{};
  std::optional<std::string> trailer{};
};

struct File {
  std::string bytes{};
  std::vector<std::string> records{};  // all that were written, by ordinal
  std::vector<Position> begins{};      // of all chunks, broken ones too
  std::vector<Position> ends{};
};

// The same Shape gives the same bytes.
File make_file(const Shape& shape);

// What record `ordinal` of `size` bytes holds: its number, in letters, again and again.
std::string record_text(std::uint64_t ordinal, std::size_t size);

// A source in memory.
std::shared_ptr<const Source> source_of(std::string_view bytes);

// Counts what a container is asked for, and stops it where a test wants to. A hook runs on the thread
// that asked, before the work, and may block; it is called by several threads at once. Set the hooks
// before the container is used.
struct Watch {
  std::function<void(Position begin)> on_scan, on_layout, on_verify, on_decode;
  std::atomic<std::uint64_t> scans{0}, layouts{0}, verifies{0}, decodes{0}, locates{0}, parts{0};
};

// Opens a toy file. Fails with kNoContainer, and as Source does.
Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits,
                                        std::shared_ptr<Watch> watch = nullptr);

// "toy", without a watch. Bids 64 on a sound head, and 1 on an empty file named *.toy.
extern const Format kFormat;

}  // namespace recordfs::toy
