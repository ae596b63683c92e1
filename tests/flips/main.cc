// flips [--full] [--every N] [--jobs N] [--write] [--only NAME] LEDGER...: tries all changes on the samples of each
// ledger, and compares their effects with the ledger. RECORDFS_THOROUGH=1 in the environment overrides --every.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/formats/registry.h"
#include "tests/contract/reading.h"
#include "tests/flips/change.h"
#include "tests/flips/ledger.h"
#include "tests/flips/whole_stack.h"

namespace recordfs::flips {
namespace {

constexpr std::size_t kMaxLines = 20;  // lines printed per sample

struct Arguments {
  std::uint64_t every = 0;
  unsigned jobs = 1;
  bool writes = false;
  std::string only;
  std::vector<std::string> ledgers;
};

struct Counts {
  std::uint64_t files = 0;
  std::array<std::uint64_t, kChanges.size()> trials{};
  std::uint64_t wrong = 0;  // deviations from the ledger

  std::uint64_t& of(Change change) { return trials[static_cast<std::size_t>(change)]; }
  std::uint64_t of(Change change) const { return trials[static_cast<std::size_t>(change)]; }
  void add(const Counts& other) {
    files += other.files;
    wrong += other.wrong;
    for (const Change change : kChanges) of(change) += other.of(change);
  }
};

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "flips: {}\n", why);
  std::exit(2);
}

Arguments parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto next = [&]() -> std::string {
      if (i + 1 == count) fail(word + " needs a value");
      return words[++i];
    };
    if (word == "--full") {
      arguments.every = 1;
    } else if (word == "--every") {
      arguments.every = std::strtoull(next().c_str(), nullptr, 10);
    } else if (word == "--jobs") {
      arguments.jobs = static_cast<unsigned>(std::strtoul(next().c_str(), nullptr, 10));
    } else if (word == "--write") {
      arguments.writes = true;
    } else if (word == "--only") {
      arguments.only = next();
    } else {
      arguments.ledgers.push_back(word);
    }
  }
  const char* const thorough = std::getenv("RECORDFS_THOROUGH");
  if (thorough != nullptr && std::strtoul(thorough, nullptr, 10) > 0 && arguments.every > 1) arguments.every = 0;
  return arguments;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  if (!in) fail("cannot read " + path);
  return std::move(bytes).str();
}

// Returns the chunk range of each record.
std::vector<Original::Span> chunks_of(const Original& original) {
  auto container = open_container({}, named_source(original.name, original.bytes), original.name, Limits{});
  if (!container) fail(original.name + ": " + recordfs::to_string(container.error()));
  const contract::Reading reading = contract::read_all(**container, original.bytes.size());
  const auto chunks = reading.walk.chunks();
  std::vector<Original::Span> spans;
  for (const contract::Mark& record : reading.records) {
    const auto chunk = std::ranges::find(chunks, record.chunk_begin, &ChunkInfo::begin);
    spans.push_back({chunk->begin, chunk->end});
  }
  return spans;
}

Original original_of(WholeStack& stack, const std::string& sample) {
  Original original;
  original.name = sample.substr(sample.rfind('/') + 1);
  original.bytes = bytes_of("tests/corpus/" + sample);
  original.observed = stack.read(original.name, original.bytes);
  original.chunks = chunks_of(original);
  if (original.observed.reports_damage() || !original.observed.inconsistencies.empty()) fail(sample + " is damaged");
  if (original.chunks.size() != original.observed.records.size())
    fail(sample + " has a different number of records in its tree");
  return original;
}

// Tries all changes on one sample.
class Run {
 public:
  Run(WholeStack& stack, const Page& page, const Arguments& arguments)
      : stack_(stack), page_(page), arguments_(arguments), original_(original_of(stack, page.sample)) {}

  Page run() {
    Page found{.sample = page_.sample, .costs = 0, .entries = {}};
    for (const Change change : kChanges) {
      const Effects effects = try_all(change, found.costs);
      std::ranges::move(entries_of(change, effects, page_, versions_), std::back_inserter(found.entries));
    }
    compare_costs(found.costs);
    ++counts_.files;
    return found;
  }

  const Counts& counts() const { return counts_; }
  void print() const {
    for (const std::string& line : lines_) fmt::print("{}: {}\n", page_.sample, line);
    if (counts_.wrong > lines_.size()) fmt::print("{}: and {} more\n", page_.sample, counts_.wrong - lines_.size());
  }

 private:
  void report(const std::string& what) {
    ++counts_.wrong;
    if (lines_.size() < kMaxLines) lines_.push_back(what);
  }

  Effects try_all(Change change, std::uint64_t& costs) {
    Effects effects;
    for (const Position at : places(change, original_, page_.borders(change), arguments_.every)) {
      const Expected expected = page_.expected(change, at, versions_);
      Effect worst = Effect::kReported;
      try_change(stack_, original_, change, at, [&](const Trial& trial) {
        ++counts_.of(change);
        worst = std::max(worst, trial.effect);
        if (change == Change::kFlip && trial.effect == Effect::kReported) costs = std::max(costs, trial.lost);
        for (const std::string& found : trial.inconsistencies) report(fmt::format("{}: {}", trial.what, found));
        if (trial.effect > expected.worst && !arguments_.writes) {
          report(fmt::format("{}: {}, {} records lost; ledger: {}", trial.what, to_string(trial.effect), trial.lost,
                             to_string(expected.worst)));
        }
      });
      if (!arguments_.writes) compare(change, at, worst, expected);
      effects[at] = worst;
    }
    return effects;
  }

  // A worse effect was reported during the trial.
  void compare(Change change, Position at, Effect worst, Expected expected) {
    if (worst <= expected.worst && !expected.allows(worst)) {
      report(fmt::format("{} at {}: {}; ledger: {}", to_string(change), at, to_string(worst),
                         to_string(expected.mildest)));
    }
    if (const Entry* entry = page_.entry(change, at); entry != nullptr && entry->why == "?") {
      report(fmt::format("{} at {}: no reason in the ledger", to_string(change), at));
    }
  }

  // The number may be lower if not every place is tried.
  void compare_costs(std::uint64_t costs) {
    const auto tried = places(Change::kFlip, original_, page_.borders(Change::kFlip), arguments_.every);
    const bool is_all = tried.size() == original_.bytes.size();
    if (arguments_.writes || costs == page_.costs || (costs < page_.costs && !is_all)) return;
    report(fmt::format("a flip loses up to {} records; ledger: {}", costs, page_.costs));
  }

  WholeStack& stack_;
  const Page& page_;
  const Arguments& arguments_;
  const Original original_;
  const Versions versions_ = linked_versions();
  Counts counts_;
  std::vector<std::string> lines_;
};

// Processes the pages of all ledgers on several threads.
class Workers {
 public:
  Workers(const Arguments& arguments, std::vector<Ledger>& ledgers) : arguments_(arguments) {
    for (Ledger& ledger : ledgers) {
      for (Page& page : ledger.pages) {
        if (page.sample.find(arguments.only) != std::string::npos) pages_.push_back(&page);
      }
    }
  }

  Counts run() {
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < arguments_.jobs; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    return counts_;
  }

 private:
  Page* take() {
    const std::lock_guard lock(mutex_);
    return next_ == pages_.size() ? nullptr : pages_[next_++];
  }

  void work() {
    WholeStack stack;
    while (Page* page = take()) {
      Run run(stack, *page, arguments_);
      Page found = run.run();
      const std::lock_guard lock(mutex_);
      counts_.add(run.counts());
      run.print();
      if (arguments_.writes) *page = std::move(found);
    }
  }

  const Arguments& arguments_;
  std::vector<Page*> pages_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  Counts counts_;
};

int run(const Arguments& arguments) {
  std::vector<Ledger> ledgers;
  for (const std::string& path : arguments.ledgers) ledgers.push_back(read_ledger(path));
  const Counts counts = Workers(arguments, ledgers).run();
  for (std::size_t i = 0; arguments.writes && i < ledgers.size(); ++i) write_ledger(arguments.ledgers[i], ledgers[i]);
  fmt::print(
      "tried {} flips and {} prefixes of {} files, {} spans of zeros, {} tails: {} deviations from the ledgers\n",
      counts.of(Change::kFlip), counts.of(Change::kCut), counts.files, counts.of(Change::kZeros),
      counts.of(Change::kTail), counts.wrong);
  return counts.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recordfs::flips

int main(int count, char** words) { return recordfs::flips::run(recordfs::flips::parse(count, words)); }
