// Opens files that writer.h made, and reads all that is in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::bloscpack {

std::unique_ptr<Container> open_bytes(const std::string& bytes, const Limits& limits = {});

struct Read {
  std::vector<std::string> records;  // in the order of the walk; "!" and the reason for one that can't be read
  std::vector<ChunkInfo> chunks;     // their chunks, one for each
  std::vector<DamagedRegion> damage;
};
Read read_all(const Container& container);
Read read_bytes(const std::string& bytes, const Limits& limits = {});

// The reasons of all damage, one a line.
std::string reasons(const Read& read);

}  // namespace recordfs::bloscpack
