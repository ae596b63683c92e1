#include "fusefs/commands/random_order.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/dataset/permutation.h"
#include "core/dataset/sampler.h"
#include "core/store/executor.h"
#include "core/store/wait_ticket.h"
#include "fusefs/commands/command.h"

namespace recordfs {
namespace {

// Records that are read ahead, in the order of the shards. Fewer if their text is long.
constexpr std::size_t kMostAhead = 65536;
constexpr std::size_t kFirstAhead = 64;  // so that the first ones appear without delay
constexpr std::uint64_t kMostText = 64u << 20;

// Returns the next ordinal; nullopt after the last one.
using NextOrdinal = std::function<std::optional<std::uint64_t>()>;

NextOrdinal order_of(const RandomOptions& options, std::uint64_t records) {
  if (!options.shuffle) {
    const auto sampler = std::make_shared<Sampler>(records, *options.sample, options.seed);
    return [sampler] { return sampler->next(); };
  }
  const std::uint64_t count = std::min(records, options.sample.value_or(records));
  return [permutation = Permutation(records, *options.shuffle), count,
          place = std::uint64_t{0}]() mutable -> std::optional<std::uint64_t> {
    if (place == count) return std::nullopt;
    return permutation.at(place++);
  };
}

// A record to write.
struct Picked {
  std::uint64_t ordinal = 0;
  std::optional<Rendered> rendered{};
  std::shared_ptr<const SetMember> failed{};  // the shard, if it cannot be read
};

// The records of one chunk among those that are read ahead.
struct PickedChunk {
  std::shared_ptr<const SetMember> member;
  std::shared_ptr<const RecordText> text;
  IndexedChunk indexed;
  std::vector<std::pair<std::size_t, std::uint64_t>> records;  // place in the window, and index in the chunk
  std::vector<Rendered> rendered{};                            // of each

  // Any thread.
  void run() {
    const auto chunk = member->store->chunks().get_quietly({}, indexed.chunk);
    for (const auto& [place, index] : records) {
      if (!chunk) {
        rendered.push_back({.failures = {{.why = chunk.error()}}, .is_over = !text->options.skips_damage});
        continue;
      }
      rendered.push_back(
          text->render({indexed.chunk, {.begin = index, .end = index + 1}, indexed.before.records}, **chunk));
    }
  }
};

class RandomCopy {
 public:
  RandomCopy(const FormOptions& form, SetReader& reader, CommandContext& context)
      : form_(form), reader_(reader), context_(context), executor_(context.threads() - 1) {}

  // Returns whether all were copied.
  bool copy(const NextOrdinal& next) {
    while (goes_on_ && context_.output().good()) {
      while (window_.size() < ahead_) {
        const auto ordinal = next();
        if (!ordinal) break;
        window_.push_back({.ordinal = *ordinal});
      }
      if (window_.empty()) return true;
      read_window();
      write_window();
    }
    return false;
  }

 private:
  // Reads the records of the window in the order of the data set, until their text is too long.
  void read_window() {
    std::vector<std::size_t> places;  // in ascending order of ordinals
    for (std::size_t i = 0; i < std::min(window_.size(), ahead_); ++i) {
      if (!window_[i].rendered) places.push_back(i);
    }
    std::ranges::sort(places, {}, [this](std::size_t place) { return window_[place].ordinal; });
    std::size_t at = 0;
    const std::size_t threads = std::max(context_.threads(), 1u);
    executor_.run_in_order({.tasks = 2 * threads, .bytes = kMostText}, [&]() -> std::optional<Executor::OrderedTask> {
      while (at < places.size() && places[at] >= ahead_) ++at;
      if (at == places.size() || !goes_on_) return std::nullopt;
      const auto chunk = next_chunk(places, at);
      if (!chunk) return std::nullopt;
      return Executor::OrderedTask{.run = [chunk] { chunk->run(); },
                                   .finish = [this, chunk](bool has_run) { return take(*chunk, has_run); },
                                   .bytes = chunk->indexed.chunk.stored_size};
    });
  }

  // Returns null if that fails, and then the copy ends.
  std::shared_ptr<PickedChunk> next_chunk(const std::vector<std::size_t>& places, std::size_t& at) {
    const std::uint64_t ordinal = window_[places[at]].ordinal;
    auto chunk = std::make_shared<PickedChunk>();
    goes_on_ = find(ordinal, *chunk);
    if (!goes_on_) return nullptr;
    const std::uint64_t first = chunk->member->first_ordinal + chunk->indexed.before.records;
    const std::uint64_t end = chunk->member->first_ordinal + chunk->indexed.after().records;
    for (; at < places.size() && window_[places[at]].ordinal < end; ++at) {
      chunk->records.emplace_back(places[at], window_[places[at]].ordinal - first);
    }
    return chunk;
  }

  bool find(std::uint64_t ordinal, PickedChunk& chunk) {
    const auto place = reader_.locate({.begin = static_cast<std::int64_t>(ordinal), .is_one = true});
    if (!place) return false;
    const std::uint64_t first = ordinal - place->ordinal;
    if (!member_ || shard_ != place->shard) {
      auto opened = reader_.member(place->shard, first);
      if (!opened) return false;
      member_ = std::make_shared<const SetMember>(std::move(*opened));
      text_ = std::make_shared<const RecordText>(*member_, form_);
      shard_ = place->shard;
    }
    auto indexed = wait_for([&] { return member_->store->index().find({}, SearchKey::kRecords, place->ordinal); });
    if (!indexed) {
      context_.print_failure(member_->path, indexed.error());
      return false;
    }
    chunk.member = member_;
    chunk.text = text_;
    chunk.indexed = std::move(*indexed);
    return true;
  }

  // If there is too much text, drops that of the second half of the window, which is read again later.
  bool take(PickedChunk& chunk, bool has_run) {
    if (!has_run) {
      context_.print_failure(chunk.member->path, shortage("out of memory"));
      return goes_on_ = false;
    }
    for (std::size_t i = 0; i < chunk.records.size(); ++i) {
      const std::size_t place = chunk.records[i].first;
      if (place >= ahead_) continue;
      if (!chunk.rendered[i].failures.empty()) window_[place].failed = chunk.member;
      text_bytes_ += chunk.rendered[i].text.size();
      window_[place].rendered = std::move(chunk.rendered[i]);
    }
    while (text_bytes_ > kMostText && ahead_ > 1) {
      ahead_ /= 2;
      for (std::size_t i = ahead_; i < window_.size(); ++i) {
        if (!window_[i].rendered) continue;
        text_bytes_ -= window_[i].rendered->text.size();
        window_[i].rendered.reset();
        window_[i].failed.reset();
      }
    }
    return true;
  }

  void write_window() {
    std::size_t written = 0;
    for (; written < window_.size() && window_[written].rendered && context_.output().good(); ++written) {
      const Rendered& rendered = *window_[written].rendered;
      context_.output().write(rendered.text);
      for (const auto& failure : rendered.failures) context_.report(*window_[written].failed->store, failure.why);
      if (rendered.is_over) {
        goes_on_ = false;
        return;
      }
    }
    const bool was_full = written == window_.size();
    window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(written));
    context_.output().flush();
    if (was_full && text_bytes_ < kMostText / 4) ahead_ = std::min(2 * ahead_, kMostAhead);
    text_bytes_ = 0;
    for (const Picked& picked : window_) text_bytes_ += picked.rendered ? picked.rendered->text.size() : 0;
  }

  const FormOptions& form_;
  SetReader& reader_;
  CommandContext& context_;
  Executor executor_;
  std::vector<Picked> window_;  // in the order in which they are written
  std::size_t ahead_ = kFirstAhead;
  std::uint64_t text_bytes_ = 0;
  bool goes_on_ = true;
  std::size_t shard_ = 0;  // of the next
  std::shared_ptr<const SetMember> member_;
  std::shared_ptr<const RecordText> text_;
};

}  // namespace

void RandomOptions::declare(CLI::App& app) {
  app.add_option_function<std::string>(
         "--shuffle", [this](const std::string& text) { shuffle = number_of("--shuffle", text); },
         "write the records in a random order, which this number selects\n"
         "The same number gives the same order for a data set of as many records, on every machine. With "
         "`--sample`, the sample is in random order.")
      ->type_name("SEED");
  auto* count = app.add_option_function<std::string>(
                       "--sample", [this](const std::string& text) { sample = number_of("--sample", text); },
                       "write N records, chosen at random, in ascending order\n"
                       "Each set of N records is as likely as any other, and none is written twice.")
                    ->type_name("N");
  app.add_option_function<std::string>(
         "--seed", [this](const std::string& text) { seed = number_of("--seed", text); },
         "selects the sample of --sample (default 0)")
      ->type_name("S")
      ->needs(count);
}

void copy_in_random_order(const RandomOptions& options, const FormOptions& form, SetReader& reader,
                          CommandContext& context) {
  const auto records = reader.records();
  if (!records) return;
  if (RandomCopy(form, reader, context).copy(order_of(options, *records))) reader.report_damage();
}

}  // namespace recordfs
