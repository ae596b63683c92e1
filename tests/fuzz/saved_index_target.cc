// The fuzz target of the saved index: uses any bytes as the saved index of one small container. Either the index is
// refused and every answer is that of a scan, or it is used as far as it fits and every returned byte is in the file.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/hash/highway.h"
#include "core/store/record_store.h"
#include "core/store/saved_index.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/put.h"
#include "tests/fuzz/target.h"
#include "tests/toy/toy_format.h"
#include "tests/unit/support/read_file.h"
#include "tests/unit/support/temp_folder.h"
#include "tests/unit/support/waited.h"

namespace recordfs::fuzz {
namespace {

using testing::TempFolder;
using testing::waited;

constexpr Catalog::Bounds kTiny{
    .anchors = 8, .chunks_per_anchor = 2, .cached_chunks = 4, .damage_rows = 30, .cached_sizes = 20};
constexpr std::size_t kChecksum = 8;
constexpr std::size_t kKeyEnd = 88;    // after magic, version, flags and the key
constexpr std::size_t kHeadEnd = 176;  // where the head's checksum is

const toy::File& container_file() {
  static const toy::File file =
      toy::make_file({.chunks = 40, .counts_in_header = false, .broken_headers = {7, 20}, .broken_payloads = {11}});
  return file;
}

// An old file, so that a saved index can identify it.
class KnownFile final : public Source {
 public:
  std::uint64_t size() const override { return inner_->size(); }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    return inner_->read_at(context, at, out);
  }
  std::optional<SourceId> id() const override { return SourceId{.source = "1", .version = "2", .is_settled = true}; }

 private:
  const std::shared_ptr<const Source> inner_ = toy::source_of(container_file().bytes);
};

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename()] = testing::read_file(entry.path());
  }
  return files;
}

// The answers of a store as text, including failures.
struct Answers {
  std::vector<std::string> all{};
  bool has_changed = false;  // the saved index turned out to be wrong
};

class Asking {
 public:
  explicit Asking(const std::string& directory) : services_(1 << 20, 1, [](Severity, const std::string&) {}) {
    services_.index = IndexLocation{directory, "fuzz", std::chrono::milliseconds(0), "fuzz"};
    const auto source = std::make_shared<const KnownFile>();
    store_.emplace("toy", source, toy::open(source, Limits{}).value(), services_, kTiny);
  }

  Answers ask() {
    ask_of_sums();
    for (std::uint64_t ordinal = 0; ordinal < container_file().records.size() + 2; ordinal += 3) ask_of_record(ordinal);
    for (std::uint64_t number = 0; number < container_file().begins.size() + 1; ++number) ask_of_chunk(number);
    return std::move(answers_);
  }

 private:
  void say(std::string text) { answers_.all.push_back(std::move(text)); }
  void say(const Error& error) {
    if (error.code == Code::kChanged) {
      answers_.has_changed = true;
    } else {
      expect_judgement(error);
    }
    say(std::string(to_string(error.code)));
  }

  void ask_of_sums() {
    if (const auto totals = waited([&] { return store_->index().totals(ScanDetail::kSizes); })) {
      say("records " + std::to_string(totals->records) + ", bytes " + std::to_string(totals->bytes));
    } else {
      say(totals.error());
    }
    if (const auto damage = waited([&] { return store_->index().damage(); })) {
      for (const DamageRow& row : **damage) say(damage_line(row.region));
    } else {
      say(damage.error());
    }
    const auto stream = waited([&] { return store_->streams().read({}, Stream::kLines, 100, 300); });
    if (stream) {
      say(std::string(as_text(stream->bytes)));
    } else {
      say(stream.error());
    }
  }

  void ask_of_record(std::uint64_t ordinal) {
    const auto indexed = waited([&] { return store_->index().find({}, SearchKey::kRecords, ordinal); });
    if (!indexed) return say(indexed.error());
    expect_in_file(indexed->chunk);
    const auto text = store_->records().read({}, {indexed->chunk, ordinal - indexed->before.records}, 0, UINT64_MAX);
    if (!text) return say(text.error());
    static const std::set<std::string> records(container_file().records.begin(), container_file().records.end());
    expect(records.contains(std::string(as_text(text->bytes))), "a record is returned that is not in the file");
    say(std::string(as_text(text->bytes)));
  }

  void ask_of_chunk(std::uint64_t number) {
    const auto indexed = waited([&] { return store_->index().find({}, SearchKey::kChunks, number); });
    if (!indexed) return say(indexed.error());
    expect_in_file(indexed->chunk);
    say("chunk " + std::to_string(indexed->chunk.begin));
  }

  static void expect_in_file(const ChunkInfo& chunk) {
    expect(std::ranges::find(container_file().begins, chunk.begin) != container_file().begins.end(),
           "a chunk is returned that is not in the file");
  }

  StoreResources services_;
  std::optional<RecordStore> store_;
  Answers answers_;
};

// The files that a scan saves, by name, and its answers.
struct Truth {
  std::map<std::string, std::string> saved{};
  Answers answers{};
};

const Truth& truth() {
  static const Truth known = [] {
    const TempFolder folder;
    Truth found;
    found.answers = Asking(folder.path()).ask();
    found.saved = files_in(folder.path());
    expect(!found.saved.empty(), "a scan saves nothing");
    expect(Asking(folder.path()).ask().all == found.answers.all, "the saved index gives other answers than the scan");
    return found;
  }();
  return known;
}

bool is_valid(Bytes index) { return decode_index(index, kTiny).has_value(); }

void fix_checksums(MutableBytes index) {
  if (index.size() < kHeadEnd + 2 * kChecksum) return;
  put_number(index, kHeadEnd, kChecksum, highway_hash(index.first(kHeadEnd)));
  const std::size_t content = index.size() - kChecksum;
  put_number(index, content, kChecksum, highway_hash(index.first(content)));
}

// Changes one number after the key, or some bytes, or replaces the file with a valid index.
std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  std::string bytes(as_text(file));
  if (bytes.size() < kKeyEnd + 2 * kChecksum || random() % 16 == 0) {
    const auto& saved = truth().saved;
    return std::next(saved.begin(), static_cast<std::ptrdiff_t>(random() % saved.size()))->second;
  }
  const std::size_t numbers = (bytes.size() - kKeyEnd - kChecksum) / 8;
  const std::size_t at = kKeyEnd + random() % numbers * 8;
  const auto writable = std::as_writable_bytes(std::span(bytes));
  switch (random() % 3) {
    case 0: put_number(writable, at, 8, get_number(writable, at, 8) + random() % 9 - 4); break;
    case 1: {
      std::string rest = bytes.substr(at);
      change(rest, 64);
      bytes.replace(at, std::string::npos, rest);
      break;
    }
    default: put_number(writable, at, 8, std::uint64_t{random()} << (random() % 33)); break;
  }
  return bytes;
}

constexpr Mutator kIndexMutator{fix_checksums, restructure};

void run_input(Bytes input) {
  static const TempFolder folder;
  const Truth& known = truth();
  for (const auto& [name, bytes] : known.saved) folder.write(name, as_text(input));
  const Answers answers = Asking(folder.path()).ask();
  if (!is_valid(input)) expect(answers.all == known.answers.all, "an invalid index changes an answer");
  if (!answers.has_changed) return;
  // A store that detects a wrong index removes it, and the next store scans.
  expect(Asking(folder.path()).ask().all == known.answers.all, "an index that was detected as wrong changes an answer");
}

}  // namespace

Target saved_index_target() {
  return {.run_input = run_input, .mutator_for = [](Bytes) { return &kIndexMutator; }};
}

}  // namespace recordfs::fuzz
