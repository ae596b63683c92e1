// Recomputes the CRC-32 of each fragment of a run file (core/formats/wandb/FORMAT.md).
#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

#include "core/hash/crc32.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

constexpr std::size_t kFrame = 32768;
constexpr std::size_t kIdent = 7;
constexpr std::size_t kHeader = 7;

struct Fragment {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Returns the fragments of frames counted from `origin`, as far as their lengths are consistent. A length that exceeds
// its frame ends the frame.
std::vector<Fragment> fragments_from(Bytes file, std::size_t origin) {
  std::vector<Fragment> fragments;
  std::size_t begin = kIdent;
  for (std::size_t frame = origin; frame < file.size(); frame += kFrame, begin = frame) {
    const std::size_t frame_end = std::min(frame + kFrame, file.size());
    while (begin < frame_end && frame_end - begin >= kHeader) {
      const std::uint64_t length = get_number(file, begin + 4, 2);
      if (get_number(file, begin + 6, 1) == 0 && length == 0) break;
      const std::size_t end = begin + kHeader + static_cast<std::size_t>(length);
      if (end > frame_end) break;
      fragments.push_back({begin, end});
      begin = end;
    }
  }
  return fragments;
}

std::uint32_t checksum_of(Bytes file, const Fragment& fragment) {
  return crc32(file.subspan(fragment.begin + 6, fragment.end - fragment.begin - 6));
}

std::size_t sound_ones(Bytes file, const std::vector<Fragment>& fragments) {
  return static_cast<std::size_t>(std::ranges::count_if(fragments, [&](const Fragment& fragment) {
    return get_number(file, fragment.begin, 4) == checksum_of(file, fragment);
  }));
}

// The first frame may contain the identifier or follow it. Chooses the variant with more valid fragments.
std::vector<Fragment> all_fragments(Bytes file) {
  auto inside = fragments_from(file, 0);
  auto before = fragments_from(file, kIdent);
  return sound_ones(file, before) > sound_ones(file, inside) ? before : inside;
}

constexpr std::array<std::uint64_t, 6> kTypes{1, 2, 3, 4, 5, 0};

void fix_checksums(MutableBytes file) {
  for (const Fragment& fragment : all_fragments(file)) {
    put_number(file, fragment.begin, 4, checksum_of(file, fragment));
  }
}

// Changes a fragment's type, its payload, or its length within what fits; or adds or removes a fragment.
std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  std::string bytes(as_text(file));
  const auto fragments = all_fragments(file);
  if (fragments.empty()) {
    change(bytes, 64);
    return bytes;
  }
  const Fragment picked = fragments[random() % fragments.size()];
  const std::size_t size = picked.end - picked.begin;
  const auto writable = std::as_writable_bytes(std::span(bytes));
  switch (random() % 6) {
    case 0: put_number(writable, picked.begin + 6, 1, kTypes[random() % kTypes.size()]); break;
    case 1: put_number(writable, picked.begin + 4, 2, random() % size); break;
    case 2: bytes.insert(fragments[random() % fragments.size()].begin, bytes.substr(picked.begin, size)); break;
    case 3: bytes.erase(picked.begin, size); break;
    default: {
      std::string payload = bytes.substr(picked.begin + kHeader, size - kHeader);
      change(payload, 0);
      payload.resize(size - kHeader);
      bytes.replace(picked.begin + kHeader, payload.size(), payload);
    }
  }
  return bytes;
}

}  // namespace

namespace wandb {

extern const Mutator kMutator;
const Mutator kMutator{fix_checksums, restructure};

}  // namespace wandb
}  // namespace recordfs::fuzz
