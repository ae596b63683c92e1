// Data sets: opening, facts, and single records.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/handles.h"
#include "core/base/location.h"
#include "core/dataset/source_spec.h"
#include "core/remote/remote_storage.h"
#include "core/store/container_info.h"
#include "core/store/json_line.h"
#include "core/store/open_container.h"
#include "core/store/wait_ticket.h"

namespace recordfs::api {
namespace {

// What recordfs_bytes points to.
struct OwnedSlice : recordfs_bytes, Handle {
  explicit OwnedSlice(Slice bytes) : slice(std::move(bytes)) {
    data = begin_of(slice.bytes);
    size = slice.bytes.size();
  }
  const Slice slice;
};

std::string text_or_empty(const char* text) { return text == nullptr ? std::string() : std::string(text); }

// Returns the shards of words that mean the same in any current directory, by paths without secrets. Fails for a
// database, whose files have older values and deleted keys too.
Result<ShardList> shards_of(std::span<const char* const> paths) {
  SourceSpec spec;
  spec.words.reserve(paths.size());
  for (const char* const path : paths) spec.words.push_back(absolute_word(path));
  for (const std::string& word : spec.words) {
    if (SourceSpec{.words = {word}}.kind() != SourceSpec::Kind::kDatabase) continue;
    const std::string named = spec.words.size() == 1 ? std::string() : word + ": ";
    return Error{.code = Code::kUnsupported,
                 .detail = named + "a database, which has keys and no records (try: recordfs_database_open)"};
  }
  auto list = spec.shards();
  // The detail is a whole message, with the path.
  if (!list && list.error().code == Code::kNotFound) {
    return Error{.code = Code::kIo, .detail = list.error().detail, .os_error = ENOENT};
  }
  if (!list) return list;
  for (Shard& shard : list->shards) shard.path = Location(shard.path).text();
  return list;
}

Result<recordfs_dataset*> open_dataset(std::span<const char* const> paths, const recordfs_options& wanted,
                                       UserTypes types) {
  ASSIGN_OR_RETURN(auto list, shards_of(paths));
  OpenOptions options{.threads = wanted.threads, .max_chunk = wanted.max_chunk, .types = std::move(types)};
  if (wanted.index != nullptr) options.index = wanted.index;
  if (wanted.cache_bytes != 0) options.cache_bytes = wanted.cache_bytes;
  ASSIGN_OR_RETURN(auto set, OpenedSet::open(std::make_shared<SetPlan>(std::move(list), std::move(options))));
  if (set->has_one_shard()) TRY(set->set().open({}, 0));
  return std::make_unique<recordfs_dataset>(std::move(set)).release();
}

Result<recordfs_bytes*> value_of(const OpenedSet& set, std::size_t file, const std::string& key) {
  ASSIGN_OR_RETURN(const auto store, open_file_of(set, file));
  ASSIGN_OR_RETURN(const auto attributes, wait_for({}, [&] { return store->attributes({}); }));
  const auto found = std::ranges::find(*attributes, key, &Attribute::key);
  if (found == attributes->end()) return Error{.code = Code::kNotFound, .detail = "no metadata " + key};
  return text_for_caller(std::string(as_text(as_bytes(found->value))));
}

Result<recordfs_bytes*> json_of(const OpenedSet& set, std::uint64_t ordinal) {
  ASSIGN_OR_RETURN(const auto found, find_record({}, set, ordinal));
  ASSIGN_OR_RETURN(const auto decoding, set.decoding(found.place.shard, found.place.store));
  const auto shard = set.has_one_shard() ? std::string_view() : set.set().name(found.place.shard);
  std::string line;
  TRY(append_json_line(line, ordinal, found.record.bytes, decoding->decoder, found.place.indexed.chunk, shard));
  line.pop_back();
  return text_for_caller(std::move(line));
}

auto about_record(const recordfs_dataset* dataset, std::uint64_t ordinal) {
  return [dataset, ordinal](const Error& error) {
    return failure_of(error, path_of_record(*dataset->set, ordinal, error));
  };
}

Result<recordfs_options> wrong_options(const char* why) {
  return Error{.code = Code::kUnsupported, .detail = std::string("recordfs_options: ") + why};
}

}  // namespace

void begin_once() {
  static std::once_flag begun;
  std::call_once(begun, [] {
    watch_forks();
    remote::add_remote_storages(remote::Host::kModule);
  });
  prepare_after_fork();
}

Result<recordfs_options> options_of(const recordfs_options* given) {
  recordfs_options options = RECORDFS_OPTIONS_INIT;
  if (given == nullptr) return options;
  const std::size_t size = given->struct_size;
  constexpr std::size_t kMost = 4096;
  if (size < sizeof(options.struct_size) || size > kMost) return wrong_options("struct_size is that of no version");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  const bool has_more = size > sizeof(options) && std::any_of(bytes + sizeof(options), bytes + size,
                                                              [](unsigned char byte) { return byte != 0; });
  if (has_more) return wrong_options("an option of a later version is set");
  std::memcpy(&options, given, std::min(size, sizeof(options)));
  if (options.index != nullptr && *options.index == '\0') return wrong_options("index is empty");
  if (options.threads > kMostThreads) return wrong_options("more than 1024 threads");
  return options;
}

recordfs_bytes* bytes_for_caller(Slice slice) { return std::make_unique<OwnedSlice>(std::move(slice)).release(); }

recordfs_bytes* text_for_caller(std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  return bytes_for_caller({.bytes = as_bytes(*owner), .owner = owner});
}

const void* begin_of(Bytes bytes) { return bytes.data() == nullptr ? static_cast<const void*>("") : bytes.data(); }

Result<std::shared_ptr<const RecordStore>> open_file_of(const OpenedSet& set, std::size_t file) {
  if (file >= set.set().size()) return Error{.code = Code::kNotFound, .detail = "the data set has no such file"};
  return set.set().open({}, file);
}

std::string path_of(const OpenedSet& set, std::size_t file) {
  return file < set.set().size() ? set.set().shard(file).path : std::string();
}

}  // namespace recordfs::api

using namespace recordfs;
using namespace recordfs::api;

void recordfs_bytes_free(recordfs_bytes* bytes) { free_object(static_cast<OwnedSlice*>(bytes)); }

recordfs_status recordfs_open(const char* const* paths, size_t count, const recordfs_options* options,
                              recordfs_dataset** dataset) {
  if (dataset != nullptr) *dataset = nullptr;
  return guarded([&] {
    begin_once();
    const std::span words(paths, paths == nullptr ? 0 : count);
    const bool is_wrong = std::ranges::any_of(words, [](const char* word) { return word == nullptr || *word == '\0'; });
    if (words.empty() || is_wrong) return report(misuse("no path is given, or one is empty"));
    const auto wanted = options_of(options);
    if (!wanted) return report(misuse(wanted.error().detail));
    std::string descriptors = text_or_empty(wanted->descriptors);
    auto types = read_user_types(descriptors, text_or_empty(wanted->type));
    if (!types) return report(failure_of(std::move(types).error(), std::move(descriptors)));
    return answer(
        dataset, [&] { return open_dataset(words, *wanted, std::move(*types)); },
        [&](const Error& error) {
          return failure_of(error, count == 1 ? Location(absolute_word(*paths)).text() : std::string());
        });
  });
}

void recordfs_close(recordfs_dataset* dataset) { free_object(dataset); }

size_t recordfs_file_count(const recordfs_dataset* dataset) {
  return dataset == nullptr ? 0 : dataset->set->plan().list.shards.size();
}

const char* recordfs_file_path(const recordfs_dataset* dataset, size_t file) {
  return file < recordfs_file_count(dataset) ? dataset->set->plan().list.shards[file].path.c_str() : nullptr;
}

recordfs_status recordfs_file_format(const recordfs_dataset* dataset, size_t file, const char** format) {
  const auto make = [&]() -> Result<const char*> {
    ASSIGN_OR_RETURN(const auto store, open_file_of(*dataset->set, file));
    const std::lock_guard lock(dataset->mutex);
    return dataset->formats.emplace(store->traits().format).first->c_str();
  };
  return answer(format, make, about_file(dataset, file), dataset);
}

recordfs_status recordfs_file_info(const recordfs_dataset* dataset, size_t file, recordfs_bytes** json) {
  const auto make = [&]() -> Result<recordfs_bytes*> {
    ASSIGN_OR_RETURN(const auto store, open_file_of(*dataset->set, file));
    ASSIGN_OR_RETURN(const auto info, container_info({}, *store));
    std::string line = to_json(info, JsonLayout::kLine);
    if (line.ends_with('\n')) line.pop_back();
    return text_for_caller(std::move(line));
  };
  return answer(json, make, about_file(dataset, file), dataset);
}

recordfs_status recordfs_file_metadata(const recordfs_dataset* dataset, size_t file, const char* key,
                                       recordfs_bytes** value) {
  if (key == nullptr) return null_argument(value);
  const auto make = [&] { return value_of(*dataset->set, file, key); };
  return answer(value, make, about_file(dataset, file), dataset);
}

recordfs_status recordfs_count(const recordfs_dataset* dataset, uint64_t* records) {
  const auto make = [&]() -> Result<std::uint64_t> {
    ASSIGN_OR_RETURN(const auto totals, wait_for({}, [&] { return dataset->set->set().totals(); }));
    return totals.records;
  };
  const auto failure = [&](const Error& error) { return failure_of(error, path_in(*dataset->set, error)); };
  return answer(records, make, failure, dataset);
}

recordfs_status recordfs_read(const recordfs_dataset* dataset, uint64_t ordinal, recordfs_bytes** record) {
  const auto make = [&]() -> Result<recordfs_bytes*> {
    ASSIGN_OR_RETURN(auto found, find_record({}, *dataset->set, ordinal));
    return bytes_for_caller(std::move(found.record));
  };
  return answer(record, make, about_record(dataset, ordinal), dataset);
}

recordfs_status recordfs_read_json(const recordfs_dataset* dataset, uint64_t ordinal, recordfs_bytes** json) {
  const auto make = [&] { return json_of(*dataset->set, ordinal); };
  return answer(json, make, about_record(dataset, ordinal), dataset);
}
