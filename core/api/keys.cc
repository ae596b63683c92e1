// The keys of databases.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/handles.h"
#include "core/base/location.h"
#include "core/base/storage.h"
#include "core/database/database.h"
#include "core/dataset/shard_list.h"

using namespace recordfs;
using namespace recordfs::api;

struct recordfs_database : Handle {
  const std::shared_ptr<const database::Database> opened;
  const std::string path;

  recordfs_database(std::unique_ptr<const database::Database> database, std::string of_path)
      : opened(std::move(database)), path(std::move(of_path)) {}
};

namespace recordfs::api {
namespace {

Result<recordfs_database*> open_database(const char* path, const Limits& limits) {
  const std::string absolute = Location(absolute_word(path)).text();
  const database::Options options{.limits = limits};
  const bool is_whole = is_directory(absolute);
  ASSIGN_OR_RETURN(auto opened, is_whole ? database::Database::open({}, absolute, options)
                                         : database::Database::open_file({}, absolute, options));
  return std::make_unique<recordfs_database>(std::move(opened), absolute).release();
}

std::string name_of(const database::Family& family) {
  return family.name.empty() ? std::to_string(family.id) : family.name;
}

// Returns the number of a column family, by its name or number. Null: the only one, or the default one.
Result<std::uint32_t> find_family(const recordfs_database& database, const char* name) {
  const auto families = database.opened->families();
  if (name == nullptr && families.size() == 1) return families.front().id;
  const std::string_view wanted = name == nullptr ? "default" : name;
  std::string all;
  // A family may be named as the number of another one.
  for (const database::Family& family : families) {
    if (!family.name.empty() && family.name == wanted) return family.id;
  }
  for (const database::Family& family : families) {
    if (std::to_string(family.id) == wanted) return family.id;
    all += (all.empty() ? "" : ", ") + name_of(family);
  }
  return Error{.code = Code::kNotFound,
               .detail = "no column family " + std::string(wanted) + " (there are: " + all + ")"};
}

Bytes bytes_of(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), data == nullptr ? 0 : size};
}

auto about_database(const recordfs_database* database) {
  return [database](Error error) { return failure_of(std::move(error), database->path); };
}

// Returns why a value is not all that its key has: a wide-column entity has further columns; nullopt if it is all.
// `columns` returns the columns.
template <typename Columns>
std::optional<Error> why_partial(database::Operation operation, const Columns& columns) {
  using database::Operation;
  if (operation != Operation::kPutEntity && operation != Operation::kMerge) return std::nullopt;
  const Result<std::vector<database::Column>> all = columns();
  if (!all) return all.error();
  const auto is_other = [](const database::Column& column) { return !column.name.empty(); };
  if (std::ranges::none_of(*all, is_other)) return std::nullopt;
  return Error{.code = Code::kUnsupported,
               .detail = "a wide-column entity, which has other columns than the default one"};
}

// Returns whether the next key can be read after a failure to read a value.
bool is_of_value(const Error& error) { return is_permanent(error.code) || error.code == Code::kNotFound; }

}  // namespace
}  // namespace recordfs::api

struct recordfs_keys : Handle {
  recordfs_keys(const recordfs_database& of, std::uint32_t family, std::string prefix)
      : database(of.opened), path(of.path), keys(database->keys(family, {.prefix = std::move(prefix)})) {}

  recordfs_status next(const recordfs_entry** entry) {
    if (!has_key && !is_over) {
      const auto moved = keys->next({});
      if (!moved) return report(failure_of(moved.error(), path));
      has_key = *moved;
      is_over = !*moved;
    }
    if (is_over) return end();
    auto read = keys->value({});
    if (read) {
      if (auto why = why_partial(keys->version().operation, [&] { return keys->columns({}); })) read = *std::move(why);
    }
    if (!read && !is_of_value(read.error())) return report(failure_of(read.error(), path));
    has_key = false;
    value = read ? *read : Slice();
    current = {.key = begin_of(keys->key()),
               .key_size = keys->key().size(),
               .value = read ? begin_of(value.bytes) : nullptr,
               .value_size = value.bytes.size(),
               .may_be_stale = keys->version().may_be_stale ? 1 : 0};
    *entry = &current;
    if (read) return RECORDFS_OK;
    Failure failure = failure_of(read.error(), path, true);
    if (failure.status == RECORDFS_NOT_FOUND) failure.status = RECORDFS_DAMAGE;  // a blob file is missing
    return report(failure);
  }

 private:
  // Returns a failure for each file that may have cost keys or newer values.
  recordfs_status end() {
    if (!lost) {
      lost.emplace();
      for (database::Problem& problem : database->problems()) {
        if (problem.loses_data) lost->push_back(std::move(problem));
      }
    }
    if (reported == lost->size()) return RECORDFS_END;
    const database::Problem& problem = (*lost)[reported++];
    Failure failure = failure_of(problem.error, problem.file.empty() ? path : path + "/" + problem.file, true);
    failure.status = RECORDFS_DAMAGE;
    failure.error.detail += " (keys or newer values may be lost)";
    return report(failure);
  }

  const std::shared_ptr<const database::Database> database;
  const std::string path;
  const std::unique_ptr<database::KeyIterator> keys;
  bool has_key = false;  // that was not returned yet
  bool is_over = false;
  Slice value{};
  recordfs_entry current{};
  std::optional<std::vector<database::Problem>> lost{};  // set after the last key
  std::size_t reported = 0;                              // of these
};

recordfs_status recordfs_database_open(const char* path, const recordfs_options* options,
                                       recordfs_database** database) {
  if (database != nullptr) *database = nullptr;
  return guarded([&] {
    begin_once();
    if (path == nullptr || *path == '\0') return report(misuse("no path is given"));
    const auto wanted = options_of(options);
    if (!wanted) return report(misuse(wanted.error().detail));
    const Limits limits = wanted->max_chunk == 0 ? Limits() : limits_for_chunks_of(wanted->max_chunk);
    return answer(
        database, [&] { return open_database(path, limits); },
        [&](const Error& error) { return failure_of(error, path); });
  });
}

void recordfs_database_close(recordfs_database* database) { free_object(database); }

recordfs_status recordfs_database_get(const recordfs_database* database, const char* family, const void* key,
                                      size_t key_size, recordfs_bytes** value) {
  if (key == nullptr && key_size > 0) return null_argument(value);
  const auto make = [&]() -> Result<recordfs_bytes*> {
    ASSIGN_OR_RETURN(const std::uint32_t number, find_family(*database, family));
    ASSIGN_OR_RETURN(auto found, database->opened->get({}, number, bytes_of(key, key_size)));
    if (found.version.may_be_stale) {
      return Error{.detail = "the key may have a newer value, or may be deleted, in what is damaged"};
    }
    const auto columns = [&] { return database->opened->value_columns({}, number, bytes_of(key, key_size)); };
    if (auto why = why_partial(found.version.operation, columns)) return *std::move(why);
    return bytes_for_caller(std::move(found.value));
  };
  return answer(value, make, about_database(database), database);
}

recordfs_status recordfs_keys_open(const recordfs_database* database, const char* family, const void* prefix,
                                   size_t prefix_size, recordfs_keys** keys) {
  if (prefix == nullptr && prefix_size > 0) return null_argument(keys);
  const auto make = [&]() -> Result<recordfs_keys*> {
    ASSIGN_OR_RETURN(const std::uint32_t number, find_family(*database, family));
    std::string begins(as_text(bytes_of(prefix, prefix_size)));
    return std::make_unique<recordfs_keys>(*database, number, std::move(begins)).release();
  };
  return answer(keys, make, about_database(database), database);
}

recordfs_status recordfs_keys_next(recordfs_keys* keys, const recordfs_entry** entry) { return advance(keys, entry); }

void recordfs_keys_close(recordfs_keys* keys) { free_object(keys); }
