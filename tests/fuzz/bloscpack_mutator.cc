// Splits a Bloscpack file into its head and its chunks, and reassembles it with correct counts, offsets and checksums
// (core/formats/bloscpack/FORMAT.md). Uses the terms of that page.
#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

#include "core/hash/digest.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

constexpr std::size_t kHeader = 32;
constexpr std::size_t kBloscHeader = 16;
constexpr std::size_t kOffset = 8;
constexpr std::size_t kMostChunks = 4096;
constexpr std::uint64_t kUnset = ~std::uint64_t{0};

std::uint64_t get(Bytes file, std::size_t at, std::size_t width) {
  return at <= file.size() && file.size() - at >= width ? get_number(file, at, width) : 0;
}

std::optional<DigestId> digest_of(std::uint64_t code) {
  if (code < 1 || code > 8) return std::nullopt;
  return static_cast<DigestId>(code - 1);
}

std::size_t size_of(std::optional<DigestId> digest) { return digest ? digest_size(*digest) : 0; }

std::string digest_over(DigestId id, Bytes bytes) {
  Digester digester(id);
  digester.append(bytes);
  return std::string(as_text(digester.finish().view()));
}

struct Plan {
  bool is_known = false;
  bool is_variable = false;
  bool has_offsets = false;
  std::optional<DigestId> digest;
  std::size_t offsets_begin = 0;
  std::size_t first_chunk = 0;
  std::uint64_t chunks = 0;
};

// Returns the end of the metadata section of version 3.
std::size_t after_metadata(Bytes file) {
  const std::uint64_t room = get(file, kHeader + 16, 4);
  const std::uint64_t end = 2 * kHeader + room + size_of(digest_of(get(file, kHeader + 9, 1)));
  return static_cast<std::size_t>(std::min<std::uint64_t>(end, file.size()));
}

Plan plan_of(Bytes file) {
  Plan plan;
  const std::uint64_t version = get(file, 4, 1);
  const std::uint64_t options = get(file, 5, 1);
  if (file.size() < kHeader || options > 7 || (version != 2 && version != 3 && (options & 4) == 0)) return plan;
  plan.is_known = true;
  plan.is_variable = (options & 4) != 0;
  plan.has_offsets = (options & 1) != 0;
  plan.digest = digest_of(get(file, 6, 1));
  plan.chunks = std::min<std::uint64_t>(get(file, 16, 8), kMostChunks);
  std::size_t at = kHeader;
  if ((options & 2) != 0 && plan.is_variable)
    at = std::min(file.size(), at + static_cast<std::size_t>(get(file, 24, 3)));
  if ((options & 2) != 0 && version == 3 && !plan.is_variable) at = after_metadata(file);
  plan.offsets_begin = plan.first_chunk = at;
  if (!plan.has_offsets) return plan;
  const std::uint64_t spare = plan.is_variable || version == 2 ? 0 : get(file, 24, 8);
  const std::uint64_t declared = at + kOffset * (plan.chunks + std::min<std::uint64_t>(spare, kMostChunks));
  const std::uint64_t first = get(file, at, kOffset);
  plan.first_chunk = static_cast<std::size_t>(
      std::min<std::uint64_t>(first > at && first < file.size() ? first : declared, file.size()));
  return plan;
}

// Returns the size of the chunk at `at` without its checksum, or 0 if no chunk fits there.
std::size_t chunk_size(Bytes file, std::size_t at, const Plan& plan) {
  if (at >= file.size() || file.size() - at < kBloscHeader) return 0;
  const std::uint64_t size = get(file, at + 12, 4);
  const bool fits = size >= kBloscHeader && size + size_of(plan.digest) <= file.size() - at;
  return fits && get(file, at, 1) == 2 ? static_cast<std::size_t>(size) : 0;
}

void put_text(MutableBytes file, std::size_t at, const std::string& text) {
  copy_bytes(as_bytes(text), file.subspan(at));
}

void fix_chunk(MutableBytes file, std::size_t at, const Plan& plan) {
  const std::size_t size = chunk_size(file, at, plan);
  if (size > 0) put_text(file, at + size, digest_over(*plan.digest, file.subspan(at, size)));
}

void fix_metadata(MutableBytes file) {
  const auto digest = digest_of(get(file, kHeader + 9, 1));
  const std::uint64_t room = get(file, kHeader + 16, 4);
  const std::uint64_t used = get(file, kHeader + 20, 4);
  if (!digest || used > room || 2 * kHeader + room + size_of(digest) > file.size()) return;
  put_text(file, 2 * kHeader + static_cast<std::size_t>(room),
           digest_over(*digest, file.subspan(2 * kHeader, static_cast<std::size_t>(used))));
}

struct Parts {
  Plan plan;
  std::string head;  // up to the offsets
  std::vector<std::string> chunks;
};

Parts take_apart(Bytes file) {
  Parts parts{plan_of(file), {}, {}};
  parts.head = as_text(file.first(std::min(parts.plan.offsets_begin, file.size())));
  for (std::size_t at = parts.plan.first_chunk; parts.chunks.size() < kMostChunks;) {
    const std::size_t size = chunk_size(file, at, parts.plan);
    if (size == 0) break;
    parts.chunks.emplace_back(as_text(file.subspan(at, size)));
    at += size + size_of(parts.plan.digest);
  }
  return parts;
}

void put(std::string& bytes, std::size_t at, std::size_t width, std::uint64_t value) {
  if (bytes.size() >= at + width) put_number(std::as_writable_bytes(std::span(bytes)), at, width, value);
}

// `order` is the position of each chunk in the file, which may differ from its number.
std::string put_together(Parts parts, const std::vector<std::size_t>& order) {
  constexpr std::size_t kSpare = 2;
  put(parts.head, 16, 8, parts.chunks.size());
  if (!parts.plan.is_variable) put(parts.head, 24, 8, kSpare);
  std::string file = parts.head;
  const std::size_t offsets = file.size();
  if (parts.plan.has_offsets) file.append(kOffset * (parts.chunks.size() + kSpare), '\xFF');
  for (const std::size_t index : order) {
    if (parts.plan.has_offsets) put(file, offsets + kOffset * index, kOffset, file.size());
    file += parts.chunks[index];
    if (parts.plan.digest) file += digest_over(*parts.plan.digest, as_bytes(parts.chunks[index]));
  }
  return file;
}

void change_chunk(std::string& chunk, std::minstd_rand& random, const ChangeBytes& change) {
  constexpr std::array<std::size_t, 5> kFields = {2, 3, 4, 8, 16};
  if (random() % 3 == 0) {
    const std::size_t field = kFields[random() % kFields.size()];
    const std::size_t width = field < 4 ? 1 : 4;
    const std::uint64_t value = get(as_bytes(chunk), field, width);
    put(chunk, field, width, random() % 2 == 0 ? value + random() % 65 - 32 : value ^ 1u << random() % (8 * width));
    return;
  }
  std::string data = chunk.substr(kBloscHeader);
  change(data, 64);
  chunk.resize(std::min(chunk.size(), kBloscHeader));
  chunk += data;
  put(chunk, 12, 4, chunk.size());
  if ((chunk[2] & 2) != 0) put(chunk, 4, 4, data.size());
}

void change_one(Parts& parts, std::vector<std::size_t>& order, std::minstd_rand& random, const ChangeBytes& change) {
  if (parts.chunks.empty()) return change(parts.head, 16);
  const std::size_t picked = random() % parts.chunks.size();
  switch (random() % 8) {
    case 0: parts.chunks.push_back(parts.chunks[picked]); break;
    case 1: parts.chunks.erase(parts.chunks.begin() + static_cast<std::ptrdiff_t>(picked)); break;
    case 2:
      parts.plan.digest = digest_of(random() % 9);
      put(parts.head, 6, 1, parts.plan.digest ? static_cast<std::uint64_t>(*parts.plan.digest) + 1 : 0);
      break;
    case 3: {
      std::string metadata = parts.head.substr(kHeader);
      change(metadata, 0);
      metadata.resize(parts.head.size() - kHeader);
      parts.head = parts.head.substr(0, kHeader) + metadata;
      break;
    }
    default: change_chunk(parts.chunks[picked], random, change);
  }
  order.resize(parts.chunks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (parts.plan.is_variable && random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
}

void fix_checksums(MutableBytes file) {
  const Plan plan = plan_of(file);
  if (!plan.is_known) return;
  if ((get(file, 5, 1) & 2) != 0 && !plan.is_variable) fix_metadata(file);
  if (!plan.digest) return;
  for (std::uint64_t i = 0; plan.has_offsets && i < plan.chunks; ++i) {
    const std::uint64_t at = get(file, plan.offsets_begin + kOffset * static_cast<std::size_t>(i), kOffset);
    if (at >= plan.first_chunk && at < file.size()) fix_chunk(file, static_cast<std::size_t>(at), plan);
  }
  const bool is_unset = plan.has_offsets && get(file, plan.offsets_begin, kOffset) == kUnset;
  if (plan.has_offsets && !is_unset) return;
  std::size_t at = plan.first_chunk;
  for (std::uint64_t i = 0; i < plan.chunks; ++i) {
    const std::size_t size = chunk_size(file, at, plan);
    if (size == 0) break;
    fix_chunk(file, at, plan);
    at += size + size_of(plan.digest);
  }
}

std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  Parts parts = take_apart(file);
  if (!parts.plan.is_known) {
    std::string bytes(as_text(file));
    change(bytes, 16);
    return bytes;
  }
  std::vector<std::size_t> order;
  change_one(parts, order, random, change);
  return put_together(std::move(parts), order);
}

}  // namespace

namespace bloscpack {

extern const Mutator kMutator;
const Mutator kMutator{fix_checksums, restructure};

}  // namespace bloscpack
}  // namespace recordfs::fuzz
