#include "core/database/transactions.h"

#include <algorithm>
#include <utility>

namespace recordfs::database {
namespace {

constexpr std::uint64_t kMostPreparedBytes = std::uint64_t{256} << 20;

std::uint64_t memory_of(const LoggedWrites::Pending& write) {
  return sizeof(write) + write.key.size() + write.value.size();
}

std::uint64_t memory_of(const Transactions::Section& section) {
  std::uint64_t bytes = 0;
  for (const LoggedWrites::Pending& write : section) bytes += memory_of(write);
  return bytes;
}

}  // namespace

void Transactions::begin_section(std::optional<std::uint64_t> sequence) {
  drop_section();
  in_section_ = true;
  section_begin_ = sequence.value_or(0);
}

void Transactions::drop_section() {
  in_section_ = false;
  release(memory_of(section_));
  section_.clear();
}

Result<void> Transactions::keep(LoggedWrites::Pending write) {
  TRY(account(memory_of(write)));
  section_.push_back(std::move(write));
  return {};
}

Result<void> Transactions::prepare(const std::string& name, std::optional<std::uint64_t> last_sequence) {
  if (!std::exchange(in_section_, false)) return {};
  const auto [found, is_new] = prepared_.try_emplace(name);
  if (is_new) TRY(account(sizeof(Transaction) + name.size()));
  Transaction& prepared = found->second;
  for (LoggedWrites::Pending& write : section_) prepared.writes.push_back(std::move(write));
  section_.clear();
  if (!last_sequence) return {};
  TRY(account(sizeof(SequenceRanges::Range)));
  prepared.ranges.push_back({section_begin_, *last_sequence});
  return {};
}

Transactions::Section Transactions::end(const std::string& name) {
  auto ended = prepared_.extract(name);
  if (ended.empty()) return {};
  Transaction& transaction = ended.mapped();
  release(sizeof(Transaction) + name.size() + memory_of(transaction.writes) +
          transaction.ranges.size() * sizeof(SequenceRanges::Range));
  return std::move(transaction.writes);
}

SequenceRanges Transactions::uncommitted() const {
  SequenceRanges uncommitted;
  for (const auto& [name, transaction] : prepared_) {
    for (const auto& range : transaction.ranges) uncommitted.add(range);
  }
  uncommitted.finish();
  return uncommitted;
}

Result<void> Transactions::account(std::uint64_t bytes) {
  bytes_ += bytes;
  if (bytes_ <= kMostPreparedBytes) return {};
  return Error{.code = Code::kLimit, .detail = "prepared transactions exceed the memory limit"};
}

void Transactions::release(std::uint64_t bytes) { bytes_ -= std::min(bytes_, bytes); }

}  // namespace recordfs::database
