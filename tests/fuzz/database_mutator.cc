// Changes the files of a database by the mutators of their formats, copies and removes tables, and appends edits to the
// MANIFEST that are valid or nearly so: with impossible levels, tables that overlap, and sequence numbers that go back.
#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

#include "tests/fuzz/database_files.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

struct ChangedFile {
  std::uint8_t name = 0;
  std::string bytes{};

  InputFile view() const { return {name, as_bytes(bytes)}; }
  bool is_table() const { return view().kind() == FileKind::kLdb || view().kind() == FileKind::kSst; }
};

const Mutator* mutator_of(FileKind kind) {
  switch (kind) {
    case FileKind::kManifest:
    case FileKind::kLog: return fuzz::mutator_of("leveldb_log");
    case FileKind::kLdb:
    case FileKind::kSst: return fuzz::mutator_of("leveldb_table");
    case FileKind::kBlob: return fuzz::mutator_of("rocksdb_blob");
    case FileKind::kCurrent: break;
  }
  return nullptr;
}

// --- edits (core/formats/leveldb_log/FORMAT.md)

using Random = std::minstd_rand;

enum Tag : std::uint64_t {
  kLogNumber = 2,
  kNextFile = 3,
  kLastSequence = 4,
  kDeletedFile = 6,
  kNewFile = 7,
  kPreviousLog = 9,
  kNewFileOfRocksDb = 100,
  kFamily = 200,
  kAddFamily = 201,
  kDropFamily = 202
};

constexpr std::array<std::uint64_t, 10> kLevels{0, 0, 1, 2, 6, 7, 63, 64, 1u << 31, UINT32_MAX};
constexpr std::array<std::uint64_t, 8> kNumbers{0, 1, 2, 100, 1u << 20, 1ull << 55, (1ull << 56) - 1, UINT64_MAX};
constexpr std::uint64_t kUsualLevels = 7;

template <class Values>
auto one_of(const Values& values, Random& random) {
  return values[random() % values.size()];
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string with_size(const std::string& text) { return varint(text.size()) + text; }

// An internal key: a user key, and a sequence number with the type of the write.
std::string some_key(Random& random) {
  static const std::array<std::string, 7> keys{"", std::string(1, '\0'), "a", "k", "key", "z", "\xff\xff"};
  std::string key = one_of(keys, random);
  std::string tag(8, '\0');
  put_number(std::as_writable_bytes(std::span(tag)), 0, 8, one_of(kNumbers, random) << 8 | random() % 3);
  if (random() % 16 == 0) tag.resize(random() % 8);
  return key + tag;
}

std::string added_table(const std::vector<ChangedFile>& files, Random& random) {
  const ChangedFile& picked = one_of(files, random);
  const std::uint64_t number = random() % 8 == 0 ? one_of(kNumbers, random) : picked.view().number();
  std::string edit;
  // A table that is in the state already is moved.
  for (std::uint64_t level = 0; level < kUsualLevels && random() % 8 != 0; ++level) {
    edit += varint(kDeletedFile) + varint(level) + varint(number);
  }
  const bool is_rocksdb = random() % 2 == 0;
  edit += varint(is_rocksdb ? kNewFileOfRocksDb : kNewFile) + varint(one_of(kLevels, random)) + varint(number) +
          varint(random() % 8 == 0 ? one_of(kNumbers, random) : picked.bytes.size()) + with_size(some_key(random)) +
          with_size(some_key(random));
  if (is_rocksdb) edit += varint(one_of(kNumbers, random)) + varint(one_of(kNumbers, random));
  return edit;
}

std::string some_edit(const std::vector<ChangedFile>& files, Random& random) {
  switch (random() % 12) {
    case 0: return varint(kLogNumber) + varint(random() % kFileNumbers);
    case 1: return varint(kNextFile) + varint(one_of(kNumbers, random));
    case 2: return varint(kLastSequence) + varint(one_of(kNumbers, random));
    case 3: return varint(kPreviousLog) + varint(random() % kFileNumbers);
    case 4: return varint(kFamily) + varint(random() % 4) + varint(kAddFamily) + with_size("family");
    case 5: return varint(kFamily) + varint(random() % 4) + varint(kDropFamily);
    case 6: return varint(kFamily) + varint(random() % 4) + added_table(files, random);
    case 7: return varint(kDeletedFile) + varint(one_of(kLevels, random)) + varint(random() % kFileNumbers);
    default: return added_table(files, random);
  }
}

// Appends a record of a log, in one fragment without its checksum.
void append_record(std::string& log, const std::string& record) {
  constexpr std::size_t kFrame = 32768;
  constexpr std::size_t kHeader = 7;
  const std::size_t left = kFrame - log.size() % kFrame;
  if (left < kHeader + record.size()) log.append(left, '\0');
  std::string header(kHeader, '\0');
  put_number(std::as_writable_bytes(std::span(header)), 4, 2, record.size());
  header.back() = 1;  // a whole record
  log += header + record;
}

// --- files

ChangedFile* pick(std::vector<ChangedFile>& files, Random& random, bool (*fits)(const ChangedFile&)) {
  std::vector<ChangedFile*> fitting;
  for (ChangedFile& file : files) {
    if (fits(file)) fitting.push_back(&file);
  }
  return fitting.empty() ? nullptr : one_of(fitting, random);
}

bool is_manifest(const ChangedFile& file) { return file.view().kind() == FileKind::kManifest; }
bool is_table(const ChangedFile& file) { return file.is_table(); }
bool is_any(const ChangedFile&) { return true; }

void append_edits(std::vector<ChangedFile>& files, Random& random) {
  ChangedFile* const manifest = pick(files, random, is_manifest);
  if (manifest == nullptr) return;
  std::string edit;
  for (std::size_t i = 0; i <= random() % 3; ++i) edit += some_edit(files, random);
  append_record(manifest->bytes, edit);
}

void copy_table(std::vector<ChangedFile>& files, Random& random) {
  if (files.size() >= kMostInputFiles) return;
  const ChangedFile* const table = pick(files, random, is_table);
  if (table == nullptr) return;
  ChangedFile copy = *table;
  copy.name = name_byte(copy.view().kind(), static_cast<unsigned>(random()));
  files.push_back(std::move(copy));
}

void change_file(ChangedFile& file, Random& random, const ChangeBytes& change) {
  if (const Mutator* const mutator = mutator_of(file.view().kind())) {
    file.bytes = mutator->restructure(as_bytes(file.bytes), random(), change);
  } else {
    change(file.bytes, 16);
  }
}

void fix_checksums(MutableBytes input) {
  for (const InputFile& file : split_input(input)) {
    const Mutator* const mutator = mutator_of(file.kind());
    if (mutator == nullptr || file.bytes.empty()) continue;
    const auto begin = static_cast<std::size_t>(file.bytes.data() - Bytes(input).data());
    mutator->fix_checksums(input.subspan(begin, file.bytes.size()));
  }
}

std::string restructure(Bytes input, std::uint64_t seed, const ChangeBytes& change) {
  Random random(static_cast<Random::result_type>(seed));
  std::vector<ChangedFile> files;
  for (const InputFile& file : split_input(input)) files.push_back({file.name, std::string(as_text(file.bytes))});
  if (files.empty()) {
    std::string bytes(as_text(input));
    change(bytes, 64);
    return bytes;
  }
  ChangedFile& picked = *pick(files, random, is_any);
  switch (random() % 10) {
    case 0: files.erase(files.begin() + (&picked - files.data())); break;
    case 1: picked.name = name_byte(picked.view().kind(), static_cast<unsigned>(random())); break;
    case 2: copy_table(files, random); break;
    case 3:
    case 4:
    case 5: append_edits(files, random); break;
    case 6:
      copy_table(files, random);
      append_edits(files, random);
      break;
    default: change_file(picked, random, change);
  }
  std::string changed;
  for (const ChangedFile& file : files) append_file(changed, file.name, file.bytes);
  return changed;
}

}  // namespace

const Mutator kDatabaseMutator{fix_checksums, restructure};

}  // namespace recordfs::fuzz
