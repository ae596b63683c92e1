// Opens files made by writer.h, and reads all of their content.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::bloscpack {

std::unique_ptr<Container> open_bytes(const std::string& bytes, const Limits& limits = {});

struct Read {
  std::vector<std::string> records;  // in scan order; "!" and the reason for an unreadable one
  std::vector<ChunkInfo> chunks;     // one for each record
  std::vector<DamagedRegion> damage;
};
Read read_all(const Container& container);
Read read_bytes(const std::string& bytes, const Limits& limits = {});

// Returns the reasons of all damage, one per line.
std::string reasons(const Read& read);

}  // namespace recordfs::bloscpack
