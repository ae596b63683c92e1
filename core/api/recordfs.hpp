// recordfs for C++20: objects that free themselves, over recordfs.h, which documents what each function returns, its
// errors, and threads. Only functions of C are called, so that the compiler and the C++ library may be others than
// those that recordfs was built with.
#ifndef RECORDFS_HPP
#define RECORDFS_HPP

#include <recordfs.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace recordfs {
inline namespace v0 {

// A copy of recordfs_error.
struct Error {
  recordfs_status status = RECORDFS_OK;
  int os_error = 0;
  bool can_continue = false;
  std::uint64_t position = 0;
  std::string path{};
  std::string message{};

  // Returns the last failure on this thread.
  static Error last() {
    const recordfs_error& error = *recordfs_last_error();
    return {error.status, error.os_error, error.can_continue != 0, error.position, error.path, error.message};
  }
  // Returns "data.tfrecord: byte 65536: checksum mismatch".
  std::string text() const {
    return (path.empty() ? path : path + ": ") +
           (position == 0 ? std::string() : "byte " + std::to_string(position) + ": ") + message;
  }
};

// A value or an error, with the names of std::expected. Reading the value of an error ends the program.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return get(); }
  const T& value() const& { return const_cast<Result*>(this)->get(); }
  T&& value() && { return std::move(get()); }
  T& operator*() & { return get(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(get()); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &value(); }
  // REQUIRES: !has_value().
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  T& get() {
    if (!has_value()) std::abort();
    return *std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

namespace detail {

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
template <class T, auto kFree>
using Owner = std::unique_ptr<T, Free<kFree>>;

inline std::span<const std::byte> span_of(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), size};
}
inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What an iterator of C returns step by step, as a range of results. It has one pass, and is over after an error that
// cannot be continued. Movable.
template <class T, class Item, class Given, auto kNext, auto kFree>
class Steps {
 public:
  explicit Steps(T* steps) : steps_(steps) {}

  // Returns the next item, valid until the next call; nullopt after the last one.
  std::optional<Result<Item>> next() {
    if (is_over_) return std::nullopt;
    const Given* item = nullptr;
    const recordfs_status status = kNext(steps_.get(), &item);
    is_over_ = status == RECORDFS_END;
    if (is_over_) return std::nullopt;
    if (status == RECORDFS_OK) return Result<Item>(Item{*item});
    Error error = Error::last();
    is_over_ = !error.can_continue;
    return Result<Item>(std::move(error));
  }

  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = Result<Item>;

    Iterator() = default;
    explicit Iterator(Steps& steps) : steps_(&steps) { ++*this; }
    const value_type& operator*() const { return *steps_->current_; }
    const value_type* operator->() const { return &*steps_->current_; }
    Iterator& operator++() {
      auto next = steps_->next();
      steps_->current_.reset();
      if (next) steps_->current_.emplace(std::move(*next));
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !steps_->current_; }

   private:
    Steps* steps_ = nullptr;
  };
  // Call it once.
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Owner<T, kFree> steps_;
  bool is_over_ = false;
  std::optional<Result<Item>> current_;
};

}  // namespace detail

// Bytes that this owns. Movable.
class Bytes {
 public:
  explicit Bytes(recordfs_bytes* bytes) : bytes_(bytes) {}
  std::span<const std::byte> span() const { return detail::span_of(bytes_->data, bytes_->size); }
  std::string_view text() const { return detail::text_of(span()); }

 private:
  detail::Owner<recordfs_bytes, recordfs_bytes_free> bytes_;
};

// Items of iterations, with their bytes as spans.
struct Record : recordfs_record {
  std::span<const std::byte> span() const { return detail::span_of(data, size); }
  std::string_view text() const { return detail::text_of(span()); }
};
struct Chunk : recordfs_chunk {};
struct Region : recordfs_region {};
struct Entry : recordfs_entry {
  std::string_view key_text() const { return detail::text_of(detail::span_of(key, key_size)); }
  std::string_view value_text() const { return detail::text_of(detail::span_of(value, value_size)); }
};

using Records = detail::Steps<recordfs_records, Record, recordfs_record, recordfs_records_next, recordfs_records_close>;
using Chunks = detail::Steps<recordfs_chunks, Chunk, recordfs_chunk, recordfs_chunks_next, recordfs_chunks_close>;
using Damage = detail::Steps<recordfs_damage, Region, recordfs_region, recordfs_damage_next, recordfs_damage_close>;
using Keys = detail::Steps<recordfs_keys, Entry, recordfs_entry, recordfs_keys_next, recordfs_keys_close>;

namespace detail {

// Returns an object of what a function of C makes, whose last parameter is a pointer to it.
template <class Object, class Made, class Function, class... Arguments>
Result<Object> make(Function function, Arguments... arguments) {
  Made made{};
  if (function(arguments..., &made) != RECORDFS_OK) return Error::last();
  return Object(made);
}

}  // namespace detail

using Options = recordfs_options;  // RECORDFS_OPTIONS_INIT

// Movable; its functions are thread-safe.
class Dataset {
 public:
  explicit Dataset(recordfs_dataset* dataset) : dataset_(dataset) {}

  static Result<Dataset> open(const std::string& path, const Options* options = nullptr) {
    return open(std::span(&path, 1), options);
  }
  static Result<Dataset> open(std::span<const std::string> paths, const Options* options = nullptr) {
    std::vector<const char*> words;
    words.reserve(paths.size());
    for (const std::string& path : paths) words.push_back(path.c_str());
    return detail::make<Dataset, recordfs_dataset*>(recordfs_open, words.data(), words.size(), options);
  }

  std::size_t file_count() const { return recordfs_file_count(dataset_.get()); }
  // REQUIRES: file < file_count().
  std::string_view path(std::size_t file) const { return recordfs_file_path(dataset_.get(), file); }
  Result<std::string_view> format(std::size_t file = 0) const {
    return detail::make<std::string_view, const char*>(recordfs_file_format, dataset_.get(), file);
  }
  Result<Bytes> info(std::size_t file = 0) const { return bytes(recordfs_file_info, file); }
  Result<Bytes> metadata(const std::string& key, std::size_t file = 0) const {
    return bytes(recordfs_file_metadata, file, key.c_str());
  }
  Result<std::uint64_t> count() const {
    return detail::make<std::uint64_t, std::uint64_t>(recordfs_count, dataset_.get());
  }
  Result<Bytes> read(std::uint64_t ordinal) const { return bytes(recordfs_read, ordinal); }
  Result<Bytes> json(std::uint64_t ordinal) const { return bytes(recordfs_read_json, ordinal); }
  // `where`: empty for all records.
  Result<Records> records(std::uint64_t begin = 0, std::uint64_t end = UINT64_MAX,
                          const std::string& where = {}) const {
    return detail::make<Records, recordfs_records*>(recordfs_records_open, dataset_.get(), begin, end,
                                                    where.empty() ? nullptr : where.c_str());
  }
  Result<Chunks> chunks(std::size_t file = 0) const {
    return detail::make<Chunks, recordfs_chunks*>(recordfs_chunks_open, dataset_.get(), file);
  }
  Result<Damage> damage(std::size_t file = 0) const {
    return detail::make<Damage, recordfs_damage*>(recordfs_damage_open, dataset_.get(), file);
  }
  Result<Damage> verify(std::size_t file = 0) const {
    return detail::make<Damage, recordfs_damage*>(recordfs_verify, dataset_.get(), file);
  }

 private:
  template <class Function, class... Arguments>
  Result<Bytes> bytes(Function function, Arguments... arguments) const {
    return detail::make<Bytes, recordfs_bytes*>(function, dataset_.get(), arguments...);
  }

  detail::Owner<recordfs_dataset, recordfs_close> dataset_;
};

// Movable; its functions are thread-safe.
class Database {
 public:
  explicit Database(recordfs_database* database) : database_(database) {}

  static Result<Database> open(const std::string& path, const Options* options = nullptr) {
    return detail::make<Database, recordfs_database*>(recordfs_database_open, path.c_str(), options);
  }

  // `family`: null for the default column family.
  Result<Bytes> get(std::string_view key, const char* family = nullptr) const {
    return detail::make<Bytes, recordfs_bytes*>(recordfs_database_get, database_.get(), family, key.data(), key.size());
  }
  Result<Keys> keys(std::string_view prefix = {}, const char* family = nullptr) const {
    return detail::make<Keys, recordfs_keys*>(recordfs_keys_open, database_.get(), family, prefix.data(),
                                              prefix.size());
  }

 private:
  detail::Owner<recordfs_database, recordfs_database_close> database_;
};

}  // namespace v0
}  // namespace recordfs

#endif  // RECORDFS_HPP
