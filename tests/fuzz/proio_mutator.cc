// Splits a stream of buckets and reassembles it with correct lengths (core/formats/proio/FORMAT.md). Only some
// compressed payloads have checksums, so fix_checksums() does nothing.
#include <algorithm>
#include <random>
#include <vector>

#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

constexpr std::string_view kMagic("\xe1\xc1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
constexpr std::size_t kLength = 4;
constexpr std::uint32_t kBucketSize = 2;
constexpr std::uint32_t kCompression = 3;

struct Bucket {
  std::string header;
  std::string payload;
};

std::uint64_t number_in(Bytes message, std::uint32_t field) {
  std::uint64_t value = 0;
  for (const FieldPlace& place : fields_of(message)) {
    if (place.field.is(field, protobuf::WireType::kVarint)) value = place.field.value;
  }
  return value;
}

// Returns the header with `value` in one field.
std::string with_number(const std::string& header, std::uint32_t field, std::uint64_t value) {
  std::string changed;
  for (const FieldPlace& place : fields_of(as_bytes(header))) {
    if (place.field.number != field) changed += header.substr(place.begin, place.end - place.begin);
  }
  append_number(changed, field, value);
  return changed;
}

std::vector<Bucket> take_apart(Bytes file) {
  std::vector<Bucket> buckets;
  std::size_t at = 0;
  while (file.size() - at >= kMagic.size() + kLength && as_text(file.subspan(at, kMagic.size())) == kMagic) {
    const std::uint64_t length = get_number(file, at + kMagic.size(), kLength);
    at += kMagic.size() + kLength;
    const Bytes header = file.subspan(at, std::min<std::uint64_t>(length, file.size() - at));
    at += header.size();
    const Bytes payload = file.subspan(at, std::min<std::uint64_t>(number_in(header, kBucketSize), file.size() - at));
    at += payload.size();
    buckets.push_back({std::string(as_text(header)), std::string(as_text(payload))});
  }
  return buckets;
}

void append_length(std::string& bytes, std::size_t length) {
  bytes.append(kLength, '\0');
  put_number(std::as_writable_bytes(std::span(bytes)), bytes.size() - kLength, kLength, length);
}

std::string put_together(const std::vector<Bucket>& buckets) {
  std::string file;
  for (const Bucket& bucket : buckets) {
    file += kMagic;
    append_length(file, bucket.header.size());
    file += bucket.header + bucket.payload;
  }
  return file;
}

void change_event(Bucket& bucket, std::minstd_rand& random, const ChangeBytes& change) {
  std::vector<Bytes> events;
  const Bytes payload = as_bytes(bucket.payload);
  for (std::size_t at = 0; payload.size() - at >= kLength;) {
    const std::uint64_t length = get_number(payload, at, kLength);
    at += kLength;
    events.push_back(payload.subspan(at, std::min<std::uint64_t>(length, payload.size() - at)));
    at += events.back().size();
  }
  if (events.empty()) return change(bucket.payload, 64);
  const std::size_t picked = random() % events.size();
  std::string changed;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::string event = i == picked ? change_message(events[i], random, change) : std::string(as_text(events[i]));
    append_length(changed, event.size());
    changed += event;
  }
  bucket.payload = changed;
}

void fix_checksums(MutableBytes) {}

// Adds or removes a bucket, changes fields of its header, changes an event of an uncompressed payload, or changes the
// payload's bytes.
std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  auto buckets = take_apart(file);
  if (buckets.empty()) buckets.emplace_back();
  const auto picked = buckets.begin() + static_cast<std::ptrdiff_t>(random() % buckets.size());
  const bool is_plain = number_in(as_bytes(picked->header), kCompression) == 0;
  switch (random() % 8) {
    case 0: buckets.insert(picked, Bucket(*picked)); break;
    case 1: buckets.erase(picked); break;
    case 2:
    case 3: picked->header = change_message(as_bytes(picked->header), random, change); break;
    case 4: picked->header = with_number(picked->header, kCompression, random() % 5); break;
    default:
      if (is_plain) {
        change_event(*picked, random, change);
      } else {
        change(picked->payload, 64);
      }
      picked->header = with_number(picked->header, kBucketSize, picked->payload.size());
  }
  return put_together(buckets);
}

}  // namespace

namespace proio {

extern const Mutator kMutator;
const Mutator kMutator{fix_checksums, restructure};

}  // namespace proio
}  // namespace recordfs::fuzz
