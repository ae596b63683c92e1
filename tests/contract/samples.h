// The files that the contract tests run on: every file under tests/corpus/<format's folder>/ that has
// an expectation beside it, and toy files made here. Add a file, gain a test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/registry.h"

namespace recordfs::contract {

// A stream of records: how many, and SHA-256 over each one's length (8 bytes little-endian) and bytes.
struct Stream {
  std::uint64_t records = 0;
  std::string sha256;
  bool operator==(const Stream&) const = default;
};

struct ExpectedRecord {
  std::uint64_t ordinal = 0;
  std::uint64_t size = 0;
  std::string sha256;
};

struct ExpectedChunk {
  Position begin = 0;
  Position end = 0;
};

// What NAME.expect.json says about NAME.
struct Expectation {
  bool damaged = false;
  bool refused = false;               // not a container of any format
  std::vector<Stream> right;          // what an honest reader can deliver; empty: nobody knows
  std::vector<ExpectedRecord> some;   // of an undamaged file
  std::vector<ExpectedChunk> chunks;  // of an undamaged file, all of them; empty: not told
  bool end_tells = false;             // nothing can be told of a part without the file's end
  bool unchecked = false;             // no checksum covers its records: a changed byte may give a changed record
  std::string undamaged;              // the sample from which this one was made, or ""
};

struct Sample {
  std::string name;                // as it stands in the test's name
  std::string file_name;           // with its folders below the format's
  const Format* format = nullptr;  // of the folder
  Expectation want;
  std::shared_ptr<const std::string> made;  // bytes of a toy; null: a file at `path`
  std::string path;

  std::shared_ptr<const std::string> bytes() const;
};

std::ostream& operator<<(std::ostream& out, const Sample& sample);

// All formats of this build, and the toy.
std::vector<const Format*> all_formats();

// All samples of all formats, in the order of the list. Stops the program when a sample can't be read.
const std::vector<Sample>& all_samples();
// Those that are containers, damaged or not, or each RECORDFS_ONE_SAMPLE_IN-th of them as the environment has it; and
// of these the ones without damage.
std::vector<Sample> containers();
std::vector<Sample> undamaged_containers();

// The toys alone.
std::vector<Sample> toy_samples();

// Reads an expectation file's text.
Expectation parse_expectation(const std::string& json);

}  // namespace recordfs::contract
