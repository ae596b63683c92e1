// An index in a file of its own, so that one program scans and others seek.
//
// It may be beside a remote source, as "URL.rfsindex", where it is looked for when a scan begins, unless an index was
// saved or the source is small. Its parts are indexes in the form of saved ones, one for each depth of a scan:
//
//     "rcfsfile", u32 version, u32 number of parts; u64 length of a part, part; HighwayHash-64 of everything before
//
// A part made of a remote source has the hash of the strong ETag as version, and 0 as source, so that it serves all
// URLs of an object. It is refused for the same reasons as a saved index, and is not saved again. Users that can
// write an index file can shift ordinals and hide records; a range that does not add up is kChanged, and the log names
// the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs {

// Follows the name of the file that is indexed.
inline constexpr std::string_view kIndexSuffix = ".rfsindex";

struct IndexFile {
  std::string name;  // in messages
  Buffer bytes;
};

// Returns an index file with these parts, which SavedIndex::part_of_file() has made.
std::string pack_index_file(const std::vector<std::string>& parts);

// Returns the parts of an index file, which is untrusted input. They point into `bytes`. Fails with kDamage, and with
// kUnsupported for another version.
Result<std::vector<Bytes>> parts_of_index_file(Bytes bytes);

// Reads an index file of any Location. Fails with kLimit if it is too large, with kDamage if it is not an index file,
// and like Storage::open().
Result<std::shared_ptr<const IndexFile>> read_index_file(const std::string& word);

}  // namespace recordfs
