#include "core/verify/verification.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/dataset/ordered_pass.h"
#include "core/dataset/record_block.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kPiece = 4u << 20;
constexpr std::size_t kMostFindings = 65536;
constexpr std::string_view kEmpty = "empty";

std::string_view word_for(Code code) {
  switch (code) {
    case Code::kUnreadable:
    case Code::kDamage: return "damage";
    case Code::kUnfinished: return "unfinished";
    case Code::kStale: return "stale";
    case Code::kUnsupported:
    case Code::kLimit: return "unsupported";
    case Code::kOutOfMemory: return kUnchecked;
    default: return kUnreadable;
  }
}

// A lack of memory does not describe the file.
bool is_shortage(const Error& error) { return error.code == Code::kOutOfMemory; }

// The result for a chunk.
struct Checked {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  bool has_checksum = true;
  std::vector<Finding> findings{};
  std::optional<Error> shortage{};   // no memory: the rest of the chunk was not read
  std::function<void()> observed{};  // may be empty
};

// Returns whether the scan reported the same failure for the whole chunk.
bool is_reported(const ScannedStep& step, const Error& why) {
  const ChunkInfo& chunk = step.indexed->chunk;
  return std::ranges::any_of(step.damage, [&](const DamageRow& row) {
    return row.region.begin >= chunk.begin && row.region.end <= chunk.end && row.region.reason == why.detail;
  });
}

// Returns how many records a chunk that cannot be decoded has; nullopt if the scan could not count them.
std::optional<std::uint64_t> records_of(const ScannedStep& step) {
  const ChunkInfo& chunk = step.indexed->chunk;
  const bool is_uncounted =
      chunk.records == 0u && std::ranges::any_of(step.damage, [&](const DamageRow& row) {
        return row.region.begin >= chunk.begin && row.region.end <= chunk.end && !row.region.records_lost;
      });
  return is_uncounted ? std::nullopt : chunk.records;
}

Result<std::uint64_t> read_through(const RecordStore& store, const Chunk& chunk, std::uint64_t index) {
  const std::uint64_t size = chunk.layout().extent(index).size;
  std::uint64_t at = 0;
  do {
    ASSIGN_OR_RETURN(const auto piece, store.records().read({}, chunk, index, at, std::min(kPiece, size - at)));
    at += piece.bytes.size();
    if (piece.bytes.empty() && at < size) return Error{Code::kChanged, 0, "a record is shorter than its declared size"};
  } while (at < size);
  return size;
}

// Returns whether all records can be read. Reads them together, because a read of each costs more than a small record.
bool can_be_read(const RecordStore& store, const Chunk& chunk) {
  const Layout& layout = chunk.layout();
  if (layout.has_failures()) return false;
  if (chunk.is_in_memory()) return true;
  for (std::uint64_t at = layout.first_begin(); at < layout.end();) {
    const std::uint64_t size = std::min(kPiece, layout.end() - at);
    const auto piece = store.chunks().read({}, chunk, at, size);
    if (!piece || piece->bytes.size() != size) return false;
    at += size;
  }
  return true;
}

// Joins equal failures of consecutive records.
void add_failure(Checked& checked, Finding finding) {
  if (!checked.findings.empty()) {
    Finding& last = checked.findings.back();
    if (last.begin == finding.begin && last.reason == finding.reason) {
      ++*last.records_lost;
      return;
    }
  }
  checked.findings.push_back(std::move(finding));
}

Checked check_chunk(const RequestContext& context, const RecordStore& store, const ScannedStep& step,
                    const ObserveChunk& observe) {
  Checked checked;
  const ChunkInfo& info = step.indexed->chunk;
  const auto chunk = store.chunks().decode_ahead(context, info);
  if (observe) checked.observed = observe(context, *step.indexed, chunk ? chunk->get() : nullptr);
  if (!chunk) {
    if (is_shortage(chunk.error())) {
      checked.shortage = chunk.error();
    } else if (!is_reported(step, chunk.error())) {
      checked.findings.push_back(finding_of(chunk.error(), info, records_of(step)));
    }
    return checked;
  }
  const Layout& layout = (*chunk)->layout();
  checked.has_checksum = store.traits().records_have_checksums && layout.has_checksum();
  if (can_be_read(store, **chunk)) {
    checked.records = layout.records();
    checked.bytes = layout.total();
    return checked;
  }
  for (std::uint64_t i = 0; i < layout.records(); ++i) {
    if (const auto size = read_through(store, **chunk, i)) {
      ++checked.records;
      checked.bytes += *size;
    } else if (is_shortage(size.error())) {
      checked.shortage = size.error();
      break;
    } else {
      add_failure(checked, finding_of(size.error(), info, 1));
    }
  }
  return checked;
}

class Verifier {
 public:
  Verifier(const RecordStore& store, const std::function<bool(std::uint64_t)>& goes_on)
      : store_(store), goes_on_(goes_on), regions_([this](const DamagedRegion& region) { add(finding_of(region)); }) {}

  Verdict run(unsigned threads, std::uint64_t memory, const ObserveChunk& observe) {
    const auto check_step = [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
      auto checked = step.indexed ? check_chunk(context, store_, step, observe) : Checked{};
      return [this, step, checked = std::move(checked)]() mutable { return settle(step, std::move(checked)); };
    };
    ProcessBatch take_batch = [this](const std::shared_ptr<const ScannedBatch>& batch) -> OrderedResult {
      const bool has_checksums = store_.traits().records_have_checksums && batch->content.has_checksums;
      return [this, run = batch->content.run, has_checksums] { return settle(run, has_checksums); };
    };
    if (observe) take_batch = {};  // a batch does not have the chunks' headers
    const auto scanned = read_part({.store = store_}, {.threads = threads, .memory = memory}, check_step, take_batch);
    regions_.finish();
    if (verdict_.was_stopped) return std::move(verdict_);
    if (scanned) {
      verdict_.chunks = scanned->chunks;
    } else if (is_shortage(scanned.error())) {
      add_shortage(scanned.error(), 0);
    } else {
      add(finding_of(scanned.error()));
    }
    check_metadata();
    if (shortage_) add(std::move(*shortage_));
    for (Finding& finding : beyond_) verdict_.findings.push_back(std::move(finding));
    std::ranges::stable_sort(verdict_.findings, {}, &Finding::begin);
    static_cast<void>(goes_on_(store_.source().size() - std::min(processed_, store_.source().size())));
    return std::move(verdict_);
  }

 private:
  // Beyond the bound, all findings of a class are one.
  void add(Finding finding) {
    if (verdict_.findings.size() < kMostFindings) return verdict_.findings.push_back(std::move(finding));
    const auto same = std::ranges::find(beyond_, finding.word, &Finding::word);
    if (same != beyond_.end()) return add_to(*same, finding);
    finding.reason = fmt::format("this and all that follows: {} (too much to list)", finding.reason);
    beyond_.push_back(std::move(finding));
  }

  static void add_to(Finding& sum, const Finding& finding) {
    const auto least = [](const Finding& each) { return each.records_lost.value_or(each.least_lost); };
    const std::uint64_t records = least(sum) + least(finding);
    const bool is_known = sum.records_lost && finding.records_lost;
    sum.records_lost = is_known ? std::optional(records) : std::nullopt;
    sum.least_lost = is_known ? 0 : records;
    if (sum.end && finding.end) sum.end = std::max(*sum.end, *finding.end);
    sum.impact = std::max(sum.impact, finding.impact);
  }

  // All shortages of a file are one finding.
  void add_shortage(const Error& error, std::uint64_t chunks) {
    if (!shortage_) {
      shortage_ = finding_of(error);
      shortage_->records_lost = 0;
    }
    shortage_->chunks_unchecked += chunks;
  }

  bool settle(const ScannedStep& step, Checked checked) {
    for (const DamageRow& row : step.damage) regions_.add(row.region);
    for (Finding& finding : checked.findings) add(std::move(finding));
    if (checked.observed) checked.observed();
    if (checked.shortage) add_shortage(*checked.shortage, 1);
    verdict_.records += checked.records;
    verdict_.bytes += checked.bytes;
    if (!checked.has_checksum) verdict_.without_checksum += checked.records;
    if (step.indexed) last_ = step.indexed->chunk;
    return count(step.indexed ? last_->end - last_->begin : 0);
  }

  // Every record of a batch was read and is intact.
  bool settle(const ChunkRun& run, bool has_checksums) {
    if (!has_checksums) verdict_.without_checksum += run.records;
    verdict_.records += run.records;
    verdict_.bytes += run.bytes;
    return count(run.next.position - run.from.position);
  }

  // Returns false if the file should not be read further.
  bool count(std::uint64_t bytes) {
    processed_ += bytes;
    verdict_.was_stopped = !goes_on_(bytes);
    return !verdict_.was_stopped;
  }

  void check_metadata() {
    if (const Metadata* const metadata = store_.metadata(); metadata != nullptr) {
      const auto attributes = metadata->attributes({}, metadata->varies() && last_ ? &*last_ : nullptr);
      if (!attributes) add_unless_reported(attributes.error());
    }
    if (store_.trailer() == nullptr) return;
    const auto trailer = (*store_.trailer())({});
    if (trailer) return;
    // Without its trailer the file may be truncated, and nothing tells how many records followed.
    const bool is_absent = trailer.error().position >= store_.source().size();
    add_unless_reported(trailer.error(), is_absent ? std::nullopt : std::optional<std::uint64_t>(0));
  }

  void add_unless_reported(const Error& error, std::optional<std::uint64_t> records_lost = 0) {
    if (is_shortage(error)) return add_shortage(error, 0);
    const bool is_known = std::ranges::any_of(verdict_.findings, [&](const Finding& finding) {
      return finding.begin <= error.position && error.position < finding.end.value_or(finding.begin + 1);
    });
    if (is_known) return;
    Finding finding = finding_of(error);
    finding.records_lost = records_lost;
    add(std::move(finding));
  }

  const RecordStore& store_;
  const std::function<bool(std::uint64_t)>& goes_on_;
  Regions regions_;
  std::optional<Finding> shortage_;
  std::vector<Finding> beyond_;    // kMostFindings: one of each class
  std::optional<ChunkInfo> last_;  // outside of batches, which do not change the metadata
  std::uint64_t processed_ = 0;
  Verdict verdict_;
};

bool has(const Outcome& outcome, std::string_view word) {
  return outcome.verdict &&
         std::ranges::any_of(outcome.verdict->findings, [&](const Finding& finding) { return finding.word == word; });
}

void add_members(JsonObject& row, const Finding& finding) {
  if (!finding.is_of_whole_file) {
    row.set("begin", finding.begin);
    row.set("end", finding.end);
  }
  row.set("class", finding.word);
  row.set("reason", finding.reason);
  if (!finding.is_of_whole_file) row.set("records_lost", finding.records_lost);
  if (finding.least_lost > 0) row.set("records_lost_at_least", finding.least_lost);
  if (finding.word == kUnchecked && !finding.is_of_whole_file) row.set("chunks_unchecked", finding.chunks_unchecked);
}

void add_members(JsonObject& object, const MissingShards& missing) {
  if (!missing.numbers.empty()) {
    object.set("shards", missing.numbers);
    object.set("count", std::uint64_t{missing.count});
  }
  if (!missing.instead.empty()) object.set("instead", JsonPath{missing.instead});
}

JsonObject skipped_object(const std::string& path, const Finding& finding) {
  JsonObject line;
  line.set("file", JsonPath{path});
  add_members(line, finding);
  return line;
}

// Returns what every object about a file begins with.
JsonObject object_of(const Outcome& outcome, std::string_view status) {
  JsonObject object;
  object.set("file", JsonPath{outcome.path});
  object.set("format", outcome.format.empty() ? JsonObject::Content() : std::string(outcome.format));
  object.set("size", outcome.size);
  object.set("status", status);
  object.set("read", outcome.verdict.has_value());
  return object;
}

}  // namespace

Finding finding_of(const Error& error) {
  return {.begin = error.position,
          .word = word_for(error.code),
          .reason = error.detail,
          .exceeds_limit = error.code == Code::kLimit,
          .impact = impact_of(error)};
}

Finding finding_of(const DamagedRegion& region) {
  Finding finding = finding_of(error_of(region));
  finding.end = region.end;
  finding.records_lost = region.records_lost;
  finding.least_lost = region.least_lost;
  finding.is_region = true;
  if (region.damage_class == DamageClass::kStale) finding.impact = Impact::kNone;
  return finding;
}

Finding finding_of(const Error& error, const ChunkInfo& chunk, std::optional<std::uint64_t> records) {
  const StreamProblem problem = problem_of(error, {.chunk = chunk, .before = {}}, 0, records);
  Finding finding = finding_of(problem.error);
  finding.end = problem.end;
  finding.records_lost = records;
  return finding;
}

std::optional<Finding> finding_without_checksums(const Verdict& verdict) {
  if (verdict.without_checksum == 0) return std::nullopt;
  const std::string which =
      verdict.without_checksum < verdict.records
          ? fmt::format("{} of {} have no checksum", verdict.without_checksum, counted(verdict.records, "record"))
          : "the records have no checksums";
  return finding_of_file(kUnchecked, which + ", so damage may not have been found", Impact::kIncomplete);
}

Finding finding_of_file(std::string_view word, std::string reason, Impact impact) {
  return {.word = word, .reason = std::move(reason), .is_of_whole_file = true, .impact = impact};
}

std::string skipped_line(const std::string& path, const Finding& finding) {
  return to_json(skipped_object(path, finding), JsonLayout::kLine);
}

std::string skipped_line(const MissingShards& missing) {
  const std::string reason = missing.count == 1 ? "this shard does not exist" : "these shards do not exist";
  JsonObject line = skipped_object(missing.path, finding_of_file("missing", reason, Impact::kDamage));
  add_members(line, missing);
  return to_json(line, JsonLayout::kLine);
}

std::string surplus_line(const std::string& path) {
  const std::string reason = "the data set has fewer shards, or another number of them";
  return skipped_line(path, finding_of_file("surplus", reason, Impact::kDamage));
}

std::string to_string(const Finding& finding) {
  if (finding.is_of_whole_file) return fmt::format("{}: {}", finding.word, finding.reason);
  const std::string indexed = finding.is_region
                                  ? fmt::format("bytes {} to {}: {}", finding.begin, *finding.end, finding.word)
                                  : fmt::format("byte {}", finding.begin);
  if (finding.word == kUnchecked) {
    const std::uint64_t chunks = finding.chunks_unchecked;
    return fmt::format("{}: {}; {}not checked", indexed, finding.reason,
                       chunks > 0 ? counted(chunks, "chunk") + " " : "");
  }
  return fmt::format("{}: {}; {}", indexed, finding.reason, loss_text(finding.records_lost, finding.least_lost));
}

Verdict verify(const RecordStore& store, unsigned threads, std::uint64_t memory,
               const std::function<bool(std::uint64_t)>& goes_on, const ObserveChunk& observe) {
  return Verifier(store, goes_on).run(threads, memory, observe);
}

Impact Outcome::impact() const {
  if (failure && failure->code == Code::kChanged) return Impact::kPassing;
  if (failure) return is_shortage(*failure) ? Impact::kIncomplete : Impact::kUnopened;
  Impact impact = Impact::kNone;
  if (verdict) {
    for (const Finding& finding : verdict->findings) impact = std::max(impact, finding.impact);
  }
  return impact;
}

std::string_view Outcome::state() const {
  if (failure) return is_shortage(*failure) ? kUnchecked : kUnreadable;
  switch (impact()) {
    case Impact::kNone: return size == 0u ? kEmpty : "good";
    case Impact::kDamage: return "damaged";
    default: return has(*this, kUnreadable) ? kUnreadable : has(*this, kUnchecked) ? kUnchecked : "unsupported";
  }
}

void OutcomeCounts::add(const Outcome& outcome) {
  ++files[outcome.state()];
  passed_earlier += outcome.passed ? 1u : 0u;
  if (!outcome.verdict) return;
  ++read;
  bytes += outcome.size.value_or(0);
}

std::string OutcomeCounts::text() const {
  std::uint64_t all = 0;
  for (const auto& [state, count] : files) all += count;
  const auto with_state = [this](std::string_view state) {
    const auto found = files.find(state);
    return found == files.end() ? 0 : found->second;
  };
  return fmt::format(
      "{}: {} read ({}), {} unchanged since they passed; {} damaged, {} unreadable, {} unsupported, {} unchecked, "
      "{} empty",
      counted(all, "file"), read, counted(bytes, "byte"), passed_earlier, with_state("damaged"),
      with_state(kUnreadable), with_state("unsupported"), with_state(kUnchecked), with_state(kEmpty));
}

std::string findings_text(const Outcome& outcome) {
  std::string text;
  if (!outcome.verdict) return text;
  if (outcome.state() == kEmpty && !outcome.may_be_empty)
    text += fmt::format("{}: {}\n", printable(outcome.path), kEmpty);
  for (const Finding& finding : outcome.verdict->findings) {
    // The stale end of a recycled log is usual.
    const bool is_end = finding.end && outcome.size && *finding.end >= *outcome.size;
    const bool is_noted = finding.is_of_whole_file || (finding.word == to_string(DamageClass::kStale) && !is_end);
    if (finding.impact != Impact::kNone || is_noted)
      text += fmt::format("{}: {}\n", printable(outcome.path), printable(to_string(finding)));
  }
  return text;
}

std::string outcome_json(const Outcome& outcome) {
  JsonObject object = object_of(outcome, outcome.state());
  if (outcome.passed) object.set("passed", static_cast<std::uint64_t>(*outcome.passed));
  if (outcome.failure) object.set("error", outcome.failure->detail);
  if (outcome.verdict) {
    object.set("chunks", outcome.verdict->chunks);
    object.set("records", outcome.verdict->records);
    object.set("bytes", outcome.verdict->bytes);
    JsonObject::List damage;
    for (const Finding& finding : outcome.verdict->findings) add_members(damage.emplace_back(), finding);
    object.set("damage", std::move(damage));
  }
  return to_json(object, JsonLayout::kLine);
}

std::string unread_json(const std::string& path, const MissingShards* missing) {
  JsonObject object = object_of({.path = path}, missing == nullptr ? "surplus" : "missing");
  if (missing != nullptr) add_members(object, *missing);
  return to_json(object, JsonLayout::kLine);
}

}  // namespace recordfs
