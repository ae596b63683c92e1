#include "tests/bench/data/records.h"

#include <array>
#include <bit>
#include <iterator>

#include <fmt/format.h>

#include "tests/bench/data/wire.h"

namespace recordfs::bench {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"INFO", "INFO", "WARNING", "ERROR"};
constexpr std::array<std::string_view, 16> kWords = {"request",  "took",   "from",  "cache",   "shard", "replica",
                                                     "retry",    "queue",  "bytes", "session", "key",   "user",
                                                     "finished", "status", "path",  "index"};
constexpr std::uint64_t kShortest = 200;
constexpr std::uint64_t kLongest = 1000;
constexpr std::uint64_t kLargeSize = 200'000'000;

// SplitMix64: random enough that the text does not repeat, and the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  template <std::size_t kCount>
  std::string_view one_of(const std::array<std::string_view, kCount>& words) {
    return words[next() % kCount];
  }

 private:
  std::uint64_t state_;
};

std::uint64_t draw_line_size(Random& random) { return kShortest + random.next() % (kLongest - kShortest + 1); }

// Appends words with hexadecimal values until `text` has `size` bytes.
void fill_with_pairs(std::string& text, std::uint64_t size, Random& random) {
  while (text.size() < size) {
    const std::uint64_t draw = random.next();
    text += kWords[draw % kWords.size()];
    fmt::format_to(std::back_inserter(text), "={:x} ", draw >> 44);
  }
  text.resize(size);
}

std::string line_with(Random random, std::uint64_t size, std::uint64_t number) {
  std::string text = fmt::format("{:012} {}", number, random.one_of(kLevels));
  fmt::format_to(std::back_inserter(text), " worker-{} ", random.next() % 64);
  fill_with_pairs(text, size, random);
  return text;
}

std::string line(std::uint64_t number) {
  Random random(number);
  const std::uint64_t size = draw_line_size(random);
  return line_with(random, size, number);
}

std::string tiny(std::uint64_t number) {
  Random random(number);
  return fmt::format("{} {}", number, random.one_of(kWords));
}

std::string large(std::uint64_t number) {
  std::string text;
  text.reserve(kLargeSize + kLongest + 1);
  for (std::uint64_t i = number << 32; text.size() < kLargeSize; ++i) (text += line(i)) += '\n';
  text.resize(kLargeSize);
  return text;
}

// --- messages

// message Event {
//   uint64 number = 1; fixed64 time = 2; uint32 level = 3; string worker = 4; Place place = 5; string text = 6;
// }
// message Place { uint32 shard = 1; uint64 replica = 2; string path = 3; }
std::string event(std::uint64_t number) {
  Random random(number);
  const std::uint64_t size = draw_line_size(random);
  std::string place;
  put_number(place, 1, random.next() % 256);
  put_number(place, 2, random.next() >> 40);
  put_bytes(place, 3, fmt::format("/{}/{}", random.one_of(kWords), random.one_of(kWords)));
  std::string out;
  put_number(out, 1, number);
  put_varint(out, 2 << 3 | 1);
  put_fixed(out, 1'700'000'000'000'000 + number * 1000 + random.next() % 1000, 8);
  put_number(out, 3, random.next() % kLevels.size());
  put_bytes(out, 4, fmt::format("worker-{}", random.next() % 64));
  put_bytes(out, 5, place);
  std::string text;
  fill_with_pairs(text, size - 60, random);
  put_bytes(out, 6, text);
  return out;
}

// Appends a feature: a list of one of the three kinds, with `content` as its message.
void put_feature(std::string& features, std::string_view name, unsigned kind, std::string_view content) {
  std::string feature;
  put_bytes(feature, kind, content);
  std::string entry;
  put_bytes(entry, 1, name);
  put_bytes(entry, 2, feature);
  put_bytes(features, 1, entry);
}

// Returns the message of a list with one value.
std::string list_of(std::string_view value) {
  std::string list;
  put_bytes(list, 1, value);
  return list;
}

std::string number_list_of(std::uint64_t value) {
  std::string packed;
  put_varint(packed, value);
  return list_of(packed);
}

std::string example(std::uint64_t number) {
  constexpr unsigned kBytesList = 1;
  constexpr unsigned kFloatList = 2;
  constexpr unsigned kInt64List = 3;
  constexpr int kFloats = 32;
  constexpr std::uint64_t kLeastImage = 512;
  Random random(number);
  std::string features;
  put_feature(features, "id", kInt64List, number_list_of(number));
  put_feature(features, "label", kInt64List, number_list_of(random.next() % 1000));
  std::string text;
  fill_with_pairs(text, kShortest, random);
  put_feature(features, "text", kBytesList, list_of(text));
  std::string floats;
  for (int i = 0; i < kFloats; ++i) {
    put_fixed(floats, std::bit_cast<std::uint32_t>(static_cast<float>(random.next() >> 40) / float{1u << 24}), 4);
  }
  put_feature(features, "embedding", kFloatList, list_of(floats));
  std::string image;
  const std::uint64_t size = kLeastImage + random.next() % kLeastImage;
  while (image.size() < size) put_fixed(image, random.next(), 8);
  put_feature(features, "image/encoded", kBytesList, list_of(image));
  return list_of(features);
}

std::string wide(std::uint64_t number) {
  Random random(number);
  std::string out;
  for (unsigned field = 1; field <= kWideFields; ++field) {
    if (is_text_in_wide(field)) {
      put_bytes(out, field, fmt::format("{} {}", random.one_of(kWords), random.one_of(kWords)));
    } else {
      put_varint(out, field << 3 | 1);
      put_fixed(out, 1'700'000'000'000'000 + number * 1000 + random.next() % 1000, 8);
    }
  }
  return out;
}

}  // namespace

std::optional<Kind> kind_named(std::string_view name) {
  if (name == "lines") return Kind::kLines;
  if (name == "tiny") return Kind::kTiny;
  if (name == "large") return Kind::kLarge;
  if (name == "events") return Kind::kEvents;
  if (name == "examples") return Kind::kExamples;
  if (name == "wide") return Kind::kWide;
  return std::nullopt;
}

std::string record(Kind kind, std::uint64_t number) {
  switch (kind) {
    case Kind::kLines: return line(number);
    case Kind::kTiny: return tiny(number);
    case Kind::kLarge: return large(number);
    case Kind::kEvents: return event(number);
    case Kind::kExamples: return example(number);
    case Kind::kWide: return wide(number);
  }
  return {};
}

std::string line_of_size(std::uint64_t size, std::uint64_t number) { return line_with(Random(number), size, number); }

std::uint64_t record_size(Kind kind, std::uint64_t number) {
  Random random(number);
  switch (kind) {
    case Kind::kLines: return draw_line_size(random);
    case Kind::kLarge: return kLargeSize;
    case Kind::kTiny:
    case Kind::kEvents:
    case Kind::kExamples:
    case Kind::kWide: break;
  }
  return record(kind, number).size();
}

}  // namespace recordfs::bench
