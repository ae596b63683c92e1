// A container format for tests, with a switch for each property in which real formats differ. A Shape describes the
// content of a file and is stored in it. A Watch observes a container while a test runs.
//
//   file   head, chunks
//   head   "toyfile\n", u32 size of the head, u32 flags, u32 stride, attributes, trailer, u32 check
//   chunk  "TOY\n", u32 payload size, u32 records, u32 flags, u32 payload check, u32 header check,
//          payload: one u32 size for each record (top bit: unreadable), then the records
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
#include "tests/toy/parts.h"

namespace recordfs::toy {

// A part of a record; `parent` as in Part.
struct PartShape {
  std::string key;
  std::optional<std::size_t> parent{};
  PartKind kind = PartKind::kDirectory;
  std::string bytes{};  // of a file, slice or text
};

// What make_file() puts into a file. Chunks and records are numbered from 0.
struct Shape {
  std::uint64_t chunks = 4;
  std::uint64_t records_per_chunk = 3;
  std::function<std::size_t(std::uint64_t ordinal)> record_size{};  // null: 20 + ordinal % 7
  // The parts of a record, which determine its bytes and size; null: records have no parts.
  std::function<std::vector<PartShape>(std::uint64_t ordinal)> parts{};
  std::set<std::uint64_t> broken_parts{};  // readable records whose parts cannot be parsed
  bool seekable = true;
  bool counts_in_header = true;                  // otherwise only layout() returns the number and sizes of records
  bool small_layout = true;                      // otherwise LayoutCost::kDecode
  bool minimal = false;                          // only scan() and decode() are implemented
  bool by_parts = false;                         // whether open_in_place() is supported
  std::set<std::uint64_t> broken_headers{};      // chunks that a scan does not find
  std::set<std::uint64_t> broken_payloads{};     // chunks that scan finds and decode refuses with kDamage
  std::set<std::uint64_t> unsupported{};         // chunks that scan finds and decode refuses with kUnsupported
  std::set<std::uint64_t> unreadable_records{};  // records of valid chunks with a Layout::failure
  std::vector<Attribute> attributes{};
  std::optional<std::string> trailer{};
};

struct File {
  std::string bytes{};
  std::vector<std::string> records{};  // all that were written, by ordinal
  std::vector<Position> begins{};      // of all chunks, including broken ones
  std::vector<Position> ends{};
};

// Returns the file. Equal shapes give equal bytes.
File make_file(const Shape& shape);

// Returns the content of a record of `size` bytes: its ordinal in words, repeated.
std::string record_text(std::uint64_t ordinal, std::size_t size);

// Returns a source in memory.
std::shared_ptr<const Source> source_of(std::string_view bytes);

// Counts the calls to a container and lets a test block them. A hook runs on the calling thread before the work, and
// may block. Several threads call hooks at once. Set the hooks before the container is used.
struct Watch {
  std::function<void(Position begin)> on_scan, on_verify, on_decode;
  std::function<void(const RequestContext& context, Position begin)> on_layout;
  std::atomic<std::uint64_t> scans{0}, layouts{0}, verifies{0}, decodes{0}, locates{0}, parts{0};
};

// Opens a toy file. Fails with kNoContainer, or with the source's error.
Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits,
                                        std::shared_ptr<Watch> watch = nullptr);

// The format "toy", without a watch. Its probe bids 64 on a valid head, and 1 on an empty file named *.toy.
extern const Format kFormat;

}  // namespace recordfs::toy
