// Reads everything from a log: records, damaged regions, chunks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/container.h"
#include "tests/unit/formats/container_reading.h"

namespace recordfs::leveldb_log {

// Returns null if the bytes are refused.
std::unique_ptr<Container> open_log(std::string_view bytes, const Limits& limits = {});
std::unique_ptr<Container> open_log_named(const std::string& name, std::string_view bytes);
// The same as a database reads it.
std::unique_ptr<Container> open_in_database(const std::string& name, std::string_view bytes);

struct Reading : testing::ScannedFile {
  std::vector<std::string> records;  // the readable ones
  std::vector<Error> failures;       // of the unreadable ones
};

// Scans the whole log. Expects every step and every chunk to succeed.
Reading read_all(const Container& container);
Reading read_log(std::string_view bytes, const Limits& limits = {});

// Returns "[7,20) damage 1: reason" for each region, one per line, with the number of lost records, or "?".
std::string describe(const std::vector<DamagedRegion>& damage);

// Returns a text of `size` bytes that depends on `seed`.
std::string text(std::size_t size, char seed = 'a');

}  // namespace recordfs::leveldb_log
