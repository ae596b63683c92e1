// flips [--full] [--every N] [--jobs N] [--write] [--only NAME] LEDGER...: tries all changes on the samples of each
// ledger, and holds what comes of them against what is written down there. RECORDFS_THOROUGH=1 undoes --every.

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

constexpr std::size_t kMostLines = 20;  // that are printed of a sample

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
  std::uint64_t wrong = 0;  // what is not as it is written down

  std::uint64_t& of(Change change) { return trials[static_cast<std::size_t>(change)]; }
  std::uint64_t of(Change change) const { return trials[static_cast<std::size_t>(change)]; }
  void add(const Counts& other) {
    files += other.files;
    wrong += other.wrong;
    for (const Change change : kChanges) of(change) += other.of(change);
  }
};

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "flips: {}\n", why);
  std::exit(2);
}

Arguments parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto next = [&]() -> std::string {
      if (i + 1 == count) give_up(word + " wants a value");
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
  if (!in) give_up("cannot read " + path);
  return std::move(bytes).str();
}

// Where the chunk of each record stands.
std::vector<Sound::Span> chunks_of(const Sound& sound) {
  auto container = open_container(named_source(sound.name, sound.bytes), sound.name, Limits{});
  if (!container) give_up(sound.name + ": " + recordfs::to_string(container.error()));
  const contract::Reading reading = contract::read_all(**container, sound.bytes.size());
  const auto chunks = reading.walk.chunks();
  std::vector<Sound::Span> spans;
  for (const contract::Mark& record : reading.records) {
    const auto chunk = std::ranges::find(chunks, record.chunk_begin, &ChunkInfo::begin);
    spans.push_back({chunk->begin, chunk->end});
  }
  return spans;
}

Sound sound_of(WholeStack& stack, const std::string& sample) {
  Sound sound;
  sound.name = sample.substr(sample.rfind('/') + 1);
  sound.bytes = bytes_of("tests/corpus/" + sample);
  sound.given = stack.read(sound.name, sound.bytes);
  sound.chunks = chunks_of(sound);
  if (sound.given.is_told() || !sound.given.broken.empty()) give_up(sample + " is no sound file");
  if (sound.chunks.size() != sound.given.records.size()) give_up(sample + " has another number of records in its tree");
  return sound;
}

// Of one sample.
class Run {
 public:
  Run(WholeStack& stack, const Page& page, const Arguments& arguments)
      : stack_(stack), page_(page), arguments_(arguments), sound_(sound_of(stack, page.sample)) {}

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
  void complain(const std::string& what) {
    ++counts_.wrong;
    if (lines_.size() < kMostLines) lines_.push_back(what);
  }

  Effects try_all(Change change, std::uint64_t& costs) {
    Effects effects;
    for (const Position at : places(change, sound_, page_.borders(change), arguments_.every)) {
      const Due due = page_.due(change, at, versions_);
      Effect worst = Effect::kTold;
      try_out(stack_, sound_, change, at, [&](const Trial& trial) {
        ++counts_.of(change);
        worst = std::max(worst, trial.effect);
        if (change == Change::kFlip && trial.effect == Effect::kTold) costs = std::max(costs, trial.lost);
        for (const std::string& broken : trial.broken) complain(fmt::format("{}: {}", trial.what, broken));
        if (trial.effect > due.worst && !arguments_.writes) {
          complain(fmt::format("{}: {}, {} records lost; written down: {}", trial.what, to_string(trial.effect),
                               trial.lost, to_string(due.worst)));
        }
      });
      if (!arguments_.writes) compare(change, at, worst, due);
      effects[at] = worst;
    }
    return effects;
  }

  // A worse effect is complained of where it was met.
  void compare(Change change, Position at, Effect worst, Due due) {
    if (worst <= due.worst && !due.allows(worst)) {
      complain(fmt::format("{} at {}: {}; written down: {}", to_string(change), at, to_string(worst),
                           to_string(due.mildest)));
    }
    if (const Entry* entry = page_.entry(change, at); entry != nullptr && entry->why == "?") {
      complain(fmt::format("{} at {}: nobody says why", to_string(change), at));
    }
  }

  // Where not every place is tried the dearest one may be left out.
  void compare_costs(std::uint64_t costs) {
    const auto tried = places(Change::kFlip, sound_, page_.borders(Change::kFlip), arguments_.every);
    const bool is_all = tried.size() == sound_.bytes.size();
    if (arguments_.writes || costs == page_.costs || (costs < page_.costs && !is_all)) return;
    complain(fmt::format("a flip costs {} records; written down: {}", costs, page_.costs));
  }

  WholeStack& stack_;
  const Page& page_;
  const Arguments& arguments_;
  const Sound sound_;
  const Versions versions_ = versions_at_hand();
  Counts counts_;
  std::vector<std::string> lines_;
};

// The pages of all ledgers, taken one after the other by several threads.
class Crew {
 public:
  Crew(const Arguments& arguments, std::vector<Ledger>& ledgers) : arguments_(arguments) {
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
  const Counts counts = Crew(arguments, ledgers).run();
  for (std::size_t i = 0; arguments.writes && i < ledgers.size(); ++i) write_ledger(arguments.ledgers[i], ledgers[i]);
  fmt::print("{} flips and {} prefixes of {} files tried, {} spans of zeros, {} tails: {} wrong\n",
             counts.of(Change::kFlip), counts.of(Change::kCut), counts.files, counts.of(Change::kZeros),
             counts.of(Change::kTail), counts.wrong);
  return counts.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recordfs::flips

int main(int count, char** words) { return recordfs::flips::run(recordfs::flips::parse(count, words)); }
