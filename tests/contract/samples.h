// The files that the contract tests run on: every file below tests/corpus/<format's folder>/ that has an expectation,
// and toy files made here. Adding a file adds its tests.
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

// A stream of records: their number, and SHA-256 over each one's length (8 bytes, little-endian) and bytes.
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

// The content of NAME.expect.json.
struct Expectation {
  bool damaged = false;
  bool refused = false;               // not a container of any format
  std::vector<Stream> right;          // what a correct reader can return; empty: unknown
  std::vector<ExpectedRecord> some;   // of an undamaged file
  std::vector<ExpectedChunk> chunks;  // of an undamaged file, all of them; empty: not listed
  bool end_tells = false;             // nothing can be read without the file's end
  bool unchecked = false;             // no checksum covers its records: a changed byte may give a changed record
  std::string undamaged;              // the sample from which this one was made, or ""
};

struct Sample {
  std::string name;                // as in the test's name
  std::string file_name;           // with its path below the format's folder
  const Format* format = nullptr;  // of the folder
  Expectation want;
  std::shared_ptr<const std::string> made;  // content of a toy; null: a file at `path`
  std::string path;

  std::shared_ptr<const std::string> bytes() const;
};

std::ostream& operator<<(std::ostream& out, const Sample& sample);

// Returns all formats of this build, and the toy.
std::vector<const Format*> all_formats();

// Returns all samples of all formats, in registry order. Ends the program if a sample cannot be read.
const std::vector<Sample>& all_samples();
// Returns the samples that are containers, damaged or not, or every RECORDFS_ONE_SAMPLE_IN-th of them if that is set;
// and the undamaged ones of these.
std::vector<Sample> containers();
std::vector<Sample> undamaged_containers();

// Returns only the toy samples.
std::vector<Sample> toy_samples();

// Parses the text of an expectation file.
Expectation parse_expectation(const std::string& json);

}  // namespace recordfs::contract
