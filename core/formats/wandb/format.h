// Run files of Weights & Biases (.wandb) and SwanLab (.swanlab). FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_log/wire.h"
#include "core/formats/registry.h"

namespace recordfs::wandb {

extern const Format kFormat;

// --- the seven bytes at the head, which identify the writer, and the alignment of frames. FORMAT.md, "Head".

inline constexpr std::size_t kIdentSize = 7;

struct Ident {
  std::string_view writer;  // "wandb", "swanlab"; static storage
  std::string_view
      record_type;  // full name of the protobuf type of all records; "" if they are not messages of one type
  std::uint8_t version = 0;
};

// Parses the ident at the start of `head`. Returns nullopt if its name and number are unknown. Any thread.
std::optional<Ident> parse_ident(Bytes head);

// Returns the ident that wandb writes.
std::string default_ident();

// Returns head.size() if `head` is a prefix of a known ident that contains at least the name, but not the version;
// otherwise 0.
std::size_t cut_ident(Bytes head);

// Detects the alignment of frames. Some writers count the ident as part of the first frame, some do not; files too
// short to tell count as the former. Reads a few bytes of each frame up to `most` bytes into the file. Fails as
// Source does. Any thread.
Result<leveldb_log::Wire> find_wire(const RequestContext& context, const Source& source, std::uint64_t most);

// Returns whether the file has a valid fragment, for a file with a damaged ident. Checks the begin of each frame up
// to `most` bytes, and every byte of the first MiB. Fails as Source does. Any thread.
Result<bool> has_fragment(const RequestContext& context, const Source& source, std::uint64_t most);

}  // namespace recordfs::wandb
