#include "core/export/record_groups.h"

#include <utility>
#include <vector>

namespace recordfs {
namespace {

class RecordGroups final : public GroupEncoder {
 public:
  explicit RecordGroups(std::unique_ptr<RecordWriter> writer) : writer_(std::move(writer)) {}

  bool is_full(std::size_t records, std::uint64_t bytes) const override {
    return bytes + kRecordOverhead * records >= writer_->chunk_size();
  }
  Result<Append> encode(const RecordGroup& group, std::vector<RowFailure>& /*failures*/) override {
    std::vector<Bytes> records;
    records.reserve(group.records.size());
    for (std::size_t i = 0; i < group.records.size(); ++i) records.push_back(group.records.between(i, i + 1));
    ASSIGN_OR_RETURN(auto encoded, writer_->encode({}, records));
    const auto shared = std::make_shared<const EncodedRecords>(std::move(encoded));
    return Append([this, shared] { return writer_->append({}, *shared); });
  }
  Result<void> finish() override { return writer_->finish({}); }

 private:
  const std::unique_ptr<RecordWriter> writer_;
};

}  // namespace

std::unique_ptr<GroupEncoder> record_groups(std::unique_ptr<RecordWriter> writer) {
  return std::make_unique<RecordGroups>(std::move(writer));
}

}  // namespace recordfs
