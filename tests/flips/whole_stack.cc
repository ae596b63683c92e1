#include "tests/flips/whole_stack.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "core/formats/registry.h"
#include "core/store/open_container.h"
#include "core/verify/verification.h"
#include "fusefs/tree/mount_tree.h"
#include "tests/unit/support/signal.h"

namespace recordfs::flips {
namespace {

constexpr std::uint64_t kCacheBytes = 8u << 20;

class NamedSource final : public Source {
 public:
  NamedSource(std::string_view name, std::string_view bytes) : name_(name), bytes_(bytes) {}
  std::string_view name() const override { return name_; }
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    if (at >= bytes_.size()) return std::size_t{0};
    const std::string_view there = bytes_.substr(static_cast<std::size_t>(at), out.size());
    copy_bytes(as_bytes(there), out);
    return there.size();
  }

 private:
  const std::string_view name_;
  const std::string_view bytes_;
};

// Reads every file of a mounted container.
class Reader {
 public:
  Reader(const MountTree& tree, Observed& observed) : tree_(tree), observed_(observed) {}

  void read_records() {
    for_each_file("records", [&](const std::string& name, std::uint64_t number, std::optional<std::uint64_t> listed) {
      const auto bytes = contents(name, number, listed);
      if (!bytes) {
        ++observed_.failures;
        return;
      }
      observed_.records.push_back({0, 0, bytes->size(), std::hash<std::string_view>()(*bytes)});
      observed_.ordinals.push_back(std::stoull(name));
      concat_ += *bytes;
      (lines_ += *bytes) += '\n';
    });
  }

  // Checks that a stream contains all records or fails.
  void compare_streams() {
    const auto lines = contents_at(".views/streams/lines");
    const auto concat = contents_at(".views/streams/concat");
    if (observed_.reports_damage() ? lines && lines != lines_ : lines != lines_)
      complain("streams/lines differs from the records");
    if (observed_.reports_damage() ? concat && concat != concat_ : concat != concat_)
      complain("streams/concat differs from the records");
    if (observed_.failures > 0 && lines) complain("streams/lines skips unreadable records");
  }

  void read_other_files() {
    for_each_file("metadata", [&](const std::string& name, std::uint64_t number, std::optional<std::uint64_t> listed) {
      if (const auto bytes = contents(name, number, listed))
        observed_.other_files.emplace_back("metadata/" + name, *bytes);
    });
    for (const char* name : {"trailer", ".views/streams/array.npy"}) {
      if (const auto bytes = contents_at(name)) observed_.other_files.emplace_back(name, *bytes);
    }
  }

  // Returns the number of rows in index/damage.tsv.
  std::uint64_t count_damage() {
    const auto table = contents_at(".views/index/damage.tsv");
    if (table) return static_cast<std::uint64_t>(std::ranges::count(*table, '\n')) - 1;
    complain("index/damage.tsv is unreadable");
    return 0;
  }

 private:
  void complain(std::string what) { observed_.inconsistencies.push_back(std::move(what)); }

  std::optional<std::uint64_t> find(std::string_view path) const {
    std::uint64_t number = MountTree::kRootNumber;
    while (!path.empty()) {
      const std::size_t slash = std::min(path.find('/'), path.size());
      const auto child = wait_for([&] { return tree_.lookup({}, number, path.substr(0, slash)); });
      if (!child) return std::nullopt;
      number = *child;
      path.remove_prefix(std::min(slash + 1, path.size()));
    }
    return number;
  }

  template <class Take>
  void for_each_file(std::string_view directory, const Take& take) {
    const auto number = find(directory);
    if (!number) return complain(fmt::format("{} is missing", directory));
    struct Entry {
      std::string name;
      std::uint64_t number;
      std::optional<std::uint64_t> size;
    };
    std::vector<Entry> entries;
    std::uint64_t place = 0;
    const auto emit = [&](const MountEntry& entry) {
      entries.push_back({std::string(entry.name), tree_.look_up_and_reference(entry), entry.size});
      place = entry.next;
      return true;
    };
    for (std::size_t before = SIZE_MAX; before != entries.size();) {
      before = entries.size();
      const auto listed = wait_for([&] { return tree_.subtree(*number).list({}, *number, place, emit); });
      if (!listed) judge(directory, listed.error());
    }
    for (const Entry& entry : entries) take(entry.name, entry.number, entry.size);
  }

  std::optional<std::string> contents_at(std::string_view path) {
    const auto number = find(path);
    return number ? contents(path, *number, {}) : std::nullopt;
  }

  std::optional<std::string> contents(std::string_view name, std::uint64_t number,
                                      std::optional<std::uint64_t> listed) {
    const auto status = wait_for([&] { return tree_.subtree(number).status({}, number); });
    if (!status) {
      complain(fmt::format("{} has no status: {}", name, to_string(status.error())));
      return std::nullopt;
    }
    if (listed && *listed != status->size) complain(fmt::format("{} is listed with another size", name));
    const auto slice = wait_for([&] { return tree_.subtree(number).read({}, number, 0, status->size + 1); });
    if (!slice) {
      judge(name, slice.error());
      return std::nullopt;
    }
    if (slice->bytes.size() != status->size) complain(fmt::format("{} has another size than st_size", name));
    return std::string(as_text(slice->bytes));
  }

  void judge(std::string_view name, const Error& error) {
    if (error.detail.empty()) complain(fmt::format("{} fails without a reason", name));
    if (!is_permanent(error.code)) complain(fmt::format("{} fails for no reason in the bytes", name));
  }

  const MountTree& tree_;
  Observed& observed_;
  std::string concat_, lines_;
};

}  // namespace

std::shared_ptr<const Source> named_source(std::string_view name, std::string_view bytes) {
  return std::make_shared<const NamedSource>(name, bytes);
}

WholeStack::WholeStack()
    : services_(kCacheBytes, 1, [this](Severity, const std::string& line) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(line);
      }) {}

Observed WholeStack::read(std::string_view name, std::string_view bytes) {
  Observed observed;
  lines_.clear();
  const auto source = named_source(name, bytes);
  auto container = open_container({}, source, name, Limits{});
  if (!container) {
    observed.refusal = open_failure(std::string(name), container.error());
    if (container.error().detail.empty()) observed.inconsistencies.push_back("refused without a reason");
    return observed;
  }
  const auto store = std::make_shared<RecordStore>(std::string(name), source, std::move(*container), services_);
  const Verdict verdict = verify(*store, 0, kCacheBytes, [](std::uint64_t) { return true; });
  observed.findings = verdict.findings.size();
  {
    const MountTree tree({MountedContainer{.name = std::string(name), .store = store, .ownership = {}}}, false);
    Reader reader(tree, observed);
    reader.read_records();
    reader.compare_streams();
    reader.read_other_files();
    const std::uint64_t rows = reader.count_damage();
    if (rows > 0 && verdict.findings.empty())
      observed.inconsistencies.push_back("verify does not list damage that damage.tsv lists");
    if (rows == 0 && observed.failures == 0 && observed.findings > 0) {
      for (const Finding& finding : verdict.findings) {
        if (finding.is_region) observed.inconsistencies.push_back("damage.tsv does not list damage that verify lists");
      }
    }
  }
  if (observed.failures > 0 && verdict.findings.empty())
    observed.inconsistencies.push_back("reads fail, but verify finds no damage");
  if (verdict.records != observed.records.size())
    observed.inconsistencies.push_back("verify reads another number of records");
  for (const Finding& finding : verdict.findings) {
    if (finding.reason.empty()) observed.inconsistencies.push_back("verify lists damage without a reason");
  }
  const std::lock_guard lock(mutex_);
  if (observed.failures > 0 && lines_.empty()) observed.inconsistencies.push_back("a read fails without a log line");
  return observed;
}

}  // namespace recordfs::flips
