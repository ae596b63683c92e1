// Recomputes the masked CRC of each fragment of a LevelDB or RocksDB log (core/formats/leveldb_log/FORMAT.md).
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "core/hash/crc32c.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

constexpr std::size_t kFrame = 32768;
constexpr std::size_t kShortHeader = 7;
constexpr std::size_t kLongHeader = 11;

std::size_t header_size(std::uint64_t type) {
  const bool is_recyclable = (type >= 5 && type <= 8) || type == 11 || type == 131;
  return is_recyclable ? kLongHeader : kShortHeader;
}

struct Fragment {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Finds the fragments of one frame, as far as their lengths are consistent. A length that exceeds the frame ends it.
void find_fragments(Bytes file, std::size_t begin, std::size_t frame_end, std::vector<Fragment>& fragments) {
  while (begin < frame_end && frame_end - begin >= kShortHeader) {
    const std::uint64_t length = get_number(file, begin + 4, 2);
    const std::uint64_t type = get_number(file, begin + 6, 1);
    if (type == 0 && length == 0) return;
    const std::size_t end = begin + header_size(type) + length;
    if (end > frame_end) return;
    fragments.push_back({begin, end});
    begin = end;
  }
}

std::vector<Fragment> all_fragments(Bytes file) {
  std::vector<Fragment> fragments;
  for (std::size_t frame = 0; frame < file.size(); frame += kFrame) {
    find_fragments(file, frame, std::min(frame + kFrame, file.size()), fragments);
  }
  return fragments;
}

constexpr std::array<std::uint64_t, 14> kTypes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 130, 131, 0};

// Changes a fragment's type, its length within what fits, or its payload in place.
void change_fragment(std::string& bytes, Fragment fragment, std::minstd_rand& random, const ChangeBytes& change) {
  const auto file = std::as_writable_bytes(std::span(bytes));
  const std::size_t size = fragment.end - fragment.begin;
  switch (random() % 4) {
    case 0: put_number(file, fragment.begin + 6, 1, kTypes[random() % kTypes.size()]); break;
    case 1: put_number(file, fragment.begin + 4, 2, random() % size); break;
    default: {
      std::string payload = bytes.substr(fragment.begin + kShortHeader, size - kShortHeader);
      change(payload, 0);
      payload.resize(size - kShortHeader);
      bytes.replace(fragment.begin + kShortHeader, payload.size(), payload);
    }
  }
}

// Inserts or deletes a whole fragment. The data after it moves to other frame positions.
void move_fragment(std::string& bytes, Fragment from, Fragment to, std::minstd_rand& random) {
  const std::string fragment = bytes.substr(from.begin, from.end - from.begin);
  if (random() % 2 == 0) {
    bytes.insert(to.begin, fragment);
  } else {
    bytes.erase(from.begin, from.end - from.begin);
  }
}

void fix_checksums(MutableBytes file) {
  for (const Fragment fragment : all_fragments(file)) {
    const std::size_t covered = fragment.begin + 6;
    const std::uint32_t crc = crc32c(file.subspan(covered, fragment.end - covered));
    put_number(file, fragment.begin, 4, mask_crc(crc));
  }
}

std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  std::string bytes(as_text(file));
  const auto fragments = all_fragments(file);
  if (fragments.empty()) {
    change(bytes, 64);
    return bytes;
  }
  const Fragment picked = fragments[random() % fragments.size()];
  if (random() % 4 == 0) {
    move_fragment(bytes, picked, fragments[random() % fragments.size()], random);
  } else {
    change_fragment(bytes, picked, random, change);
  }
  return bytes;
}

}  // namespace

namespace leveldb_log {

extern const Mutator kMutator;
const Mutator kMutator{fix_checksums, restructure};

}  // namespace leveldb_log
}  // namespace recordfs::fuzz
