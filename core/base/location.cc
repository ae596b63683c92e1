#include "core/base/location.h"

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "core/base/schemes.h"
#include "core/base/storage.h"

namespace recordfs {
namespace {

struct Scheme {
  std::string prefix;  // with the colon
  std::shared_ptr<const Storage> storage;
};

// The table of schemes.
std::vector<Scheme>& schemes() {
  static std::vector<Scheme>* const all = std::make_unique<std::vector<Scheme>>().release();
  return *all;  // until the process ends, as what storages keep
}

const Storage& storage_of(const std::string& word) {
  for (const Scheme& scheme : schemes()) {
    struct stat st {};
    if (word.starts_with(scheme.prefix) && ::lstat(word.c_str(), &st) != 0) return *scheme.storage;
  }
  return local_storage();
}

}  // namespace

std::string note_on_scheme(std::string_view text) {
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
  if (schemes().empty() || end == 0 || end == std::string_view::npos || !text.substr(end).starts_with("://")) return {};
  std::string note = " (URLs begin with ";
  for (const Scheme& scheme : schemes()) {
    const bool is_first = &scheme == &schemes().front();
    if (!is_first) note += &scheme == &schemes().back() ? " or " : ", ";
    note += scheme.prefix;
  }
  return note + ")";
}

void add_storage(std::string scheme, std::shared_ptr<const Storage> storage) {
  schemes().push_back({std::move(scheme) + ':', std::move(storage)});
}

void prepare_storages() {
  for (const Scheme& scheme : schemes()) scheme.storage->prepare();
}

Location::Location(std::string word, NamedBy by) : text_(std::move(word)), storage_(&storage_of(text_)) {
  if (!is_local()) text_ = storage_->text_of(std::move(text_), by);
}

bool Location::is_local() const { return storage_ == &local_storage(); }

std::string_view Location::path() const {
  return is_local() ? std::string_view(text_) : std::string_view(text_).substr(0, storage_->path_size(text_));
}

Location Location::child(std::string_view name) const {
  std::string text = text_;
  if (!text.ends_with('/')) text += '/';
  return {text.append(storage_->name_in_text(*this, name)), *storage_};
}

Location Location::absolute() const {
  if (!is_local()) return *this;
  std::error_code failed;
  const auto path = std::filesystem::absolute(text_, failed);
  return failed ? *this : Location(path.string(), *storage_);
}

}  // namespace recordfs
