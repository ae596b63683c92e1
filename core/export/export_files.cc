#include "core/export/export_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace recordfs {

ExportFiles::ExportFiles(const OutputPlace& place, TextOutput& stream, Executor& executor, Options options)
    : place_(place), stream_(stream), executor_(executor), options_(std::move(options)) {}

std::string ExportFiles::name_of(std::uint64_t shard, std::uint64_t shards) const {
  if (!options_.sharding.is_given()) return place_.name;
  const auto form = export_form_of(place_.name);
  const std::string_view suffix = form ? form->suffix : std::string_view();
  return fmt::format("{}-{:05}-of-{:05}{}", place_.name.substr(0, place_.name.size() - suffix.size()), shard, shards,
                     suffix);
}

std::optional<ExportFiles::Failure> ExportFiles::check() const {
  if (!place_.is_file()) return std::nullopt;
  const std::uint64_t shards = options_.sharding.is_given() ? options_.sharding.shards.value_or(shards_) : 1;
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    std::string name = name_of(shard, shards);
    struct stat st {};
    // A link is looked at itself, because it is replaced.
    if (::fstatat(place_.directory.number(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!options_.replaces) return Failure{.name = std::move(name), .why = system_error(EEXIST)};
    if (options_.read.contains(place_.directory.number(), name)) {
      return Failure{.name = std::move(name), .why = {.code = Code::kUnsupported, .detail = std::string(kIsRead)}};
    }
  }
  return std::nullopt;
}

Result<std::uint64_t> ExportFiles::room_left(std::uint64_t needed) {
  const std::uint64_t most = *options_.sharding.size;
  // Threads encode meanwhile, so waiting for them before each decision would leave them idle.
  if (size_ > most || needed > most - size_) {
    TRY(encoder_->settle());
    gather_failures();
    size_ = files_.back()->size() + encoder_->pending();
  }
  return most - std::min(most, size_);
}

Result<std::size_t> ExportFiles::room_for(const RowBytes& rows, std::size_t begin) {
  const std::size_t left = rows.size() - begin;
  if (const auto shards = options_.sharding.shards) {
    if (shards_ == *shards) return left;  // the last one
    const std::uint64_t share = options_.records / *shards + (shards_ - 1 < options_.records % *shards ? 1 : 0);
    return static_cast<std::size_t>(std::min<std::uint64_t>(left, share - std::min(share, in_shard_)));
  }
  if (!options_.sharding.size) return left;
  const std::uint64_t wanted = rows.size_between(begin, rows.size());
  ASSIGN_OR_RETURN(const auto room, room_left(wanted));
  if (wanted <= room) return left;
  return in_shard_ == 0 || rows.size_between(begin, begin + 1) <= room ? 1 : 0;
}

Result<void> ExportFiles::begin_shard() {
  ByteSink* sink = &stream_;
  if (place_.is_file()) {
    ASSIGN_OR_RETURN(auto directory, place_.opened_directory());
    const OutputFile::Options options{.replaces = options_.replaces};
    std::string name = name_of(shards_, options_.sharding.shards.value_or(0));
    files_.push_back(std::make_unique<OutputFile>(std::move(directory), std::move(name), options));
    TRY(files_.back()->create());
    sink = files_.back().get();
  }
  ASSIGN_OR_RETURN(encoder_, open_file_encoder(options_.form, options_.encoding, *sink, executor_));
  ++shards_;
  in_shard_ = 0;
  size_ = 0;
  return {};
}

Result<void> ExportFiles::end_shard() {
  TRY(encoder_->finish());
  gather_failures();
  encoder_.reset();
  return place_.is_file() ? files_.back()->complete() : Result<void>();
}

std::optional<ExportFiles::Failure> ExportFiles::append(const RowBytes& rows) {
  const auto append_all = [&]() -> Result<void> {
    for (std::size_t i = 0; i < rows.size();) {
      if (encoder_ == nullptr) TRY(begin_shard());
      ASSIGN_OR_RETURN(const std::size_t count, room_for(rows, i));
      if (count == 0) {
        TRY(end_shard());
        continue;
      }
      TRY(encoder_->append(rows, i, i + count));
      gather_failures();
      size_ += rows.size_between(i, i + count);
      i += count;
      in_shard_ += count;
    }
    return {};
  };
  const auto appended = append_all();
  return appended ? std::nullopt : std::optional(Failure{.why = appended.error()});
}

void ExportFiles::gather_failures() {
  for (RowFailure& failure : encoder_->take_failures()) failures_.push_back(std::move(failure));
}

std::optional<ExportFiles::Failure> ExportFiles::complete() {
  const auto end_all = [&]() -> Result<void> {
    const std::uint64_t wanted = options_.sharding.shards.value_or(1);
    while (encoder_ != nullptr || shards_ < wanted) {
      if (encoder_ == nullptr) TRY(begin_shard());
      TRY(end_shard());
    }
    return {};
  };
  const auto ended = end_all();
  return ended ? std::nullopt : std::optional(Failure{.why = ended.error()});
}

std::optional<ExportFiles::Failure> ExportFiles::finish() { return place_.is_file() ? publish() : std::nullopt; }

std::optional<ExportFiles::Failure> ExportFiles::publish() {
  if (auto taken = check()) return taken;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::string name = name_of(i, files_.size());
    const auto published = files_[i]->publish_as(name);
    if (published) continue;
    for (std::size_t before = 0; before < i; ++before) files_[before]->withdraw();
    return Failure{.name = std::move(name), .why = published.error()};
  }
  return std::nullopt;
}

}  // namespace recordfs
