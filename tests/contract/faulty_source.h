// A source that fails when a test asks for it.
#pragma once

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/source.h"

namespace recordfs::contract {

class FaultySource final : public Source {
 public:
  explicit FaultySource(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  // Makes the read after the next `reads` ones fail with `error`, once or indefinitely.
  void fail_after(std::uint64_t reads, Error error, bool for_ever = false) {
    left_ = reads;
    error_ = std::move(error);
    for_ever_ = for_ever;
    failed_ = false;
  }
  // Ends reads at `size` although size() is larger, which a source must not do.
  void end_at(std::uint64_t size) { end_ = size; }
  void mend() { error_.reset(); }
  // Whether a read has failed since fail_after().
  bool has_failed() const { return failed_; }

  std::uint64_t size() const override { return source_->size(); }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    if (error_ && left_-- == 0) return fail();
    if (at >= end_) return std::size_t{0};
    return source_->read_at(context, at,
                            out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end_ - at))));
  }

 private:
  Error fail() const {
    const Error error = *error_;
    failed_ = true;
    left_ = 0;
    if (!for_ever_) error_.reset();
    return error;
  }

  const std::shared_ptr<const Source> source_;
  std::uint64_t end_ = UINT64_MAX;
  bool for_ever_ = false;
  mutable std::optional<Error> error_;
  mutable std::uint64_t left_ = 0;
  mutable bool failed_ = false;
};

}  // namespace recordfs::contract
