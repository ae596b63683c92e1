#include "fusefs/tree/database/key_files.h"

#include "core/base/percent_encoding.h"
#include "core/decoding/file_names.h"

namespace recordfs {
namespace {

constexpr std::string_view kNamesHeader = "name\tkey\n";
constexpr std::size_t kMostOfNames = std::size_t{64} << 20;

}  // namespace

Result<std::string> KeyFiles::key_of(const RequestContext& context, std::uint32_t family, std::string_view name) {
  const auto has_name = [&](std::string_view key) { return key_file_name(key, key_number(family, key)) == name; };
  const auto number = key_number_in(name);
  if (!number) {
    auto key = percent_decoded(name, "/");
    if (!key || !has_name(*key)) return no_such_name();
    return *std::move(key);
  }
  if (auto known = long_names_.find({family, *number}); known && has_name(*known)) return *std::move(known);
  // The name begins with the key's first bytes, and ends in "~" and 16 digits.
  auto prefix = percent_decoded(name.substr(0, name.size() - 17), "/");
  if (!prefix) return no_such_name();
  if (has_name(*prefix)) return *std::move(prefix);
  TRY(context.permit_slow_work());
  const auto keys = database_->keys(family, {.from = {}, .to = {}, .prefix = *prefix});
  while (true) {
    ASSIGN_OR_RETURN(const bool is_there, keys->next(context));
    if (!is_there) return no_such_name();
    const std::string_view key = as_text(keys->key());
    if (key_number(family, key) == *number && has_name(key)) return std::string(key);
  }
}

Result<KeyFiles::KeyValue> KeyFiles::find(const RequestContext& context, std::uint32_t family,
                                          const std::string& key) const {
  auto found = database_->get(context, family, as_bytes(key));
  if (found) return KeyValue{std::move(found->version), std::move(found->value)};
  const Code why = found.error().code;
  if (!is_permanent(why) && why != Code::kNotFound) return std::move(found).error();
  // There may be a value that cannot be read.
  auto versions = database_->history(context, family, as_bytes(key));
  if (!versions && !is_permanent(versions.error().code) && versions.error().code != Code::kNotFound) {
    return std::move(versions).error();
  }
  if (!versions || versions->empty() || deletes(versions->front().operation)) return std::move(found).error();
  return KeyValue{std::move(versions->front()), std::move(found).error()};
}

Result<void> KeyFiles::list(const RequestContext& context, const database::Family& family, std::uint64_t place,
                            const std::function<bool(const ListedKey&)>& take) {
  return listing_.list(context, family, place, [&](Bytes bytes, const database::Version& version, std::uint64_t at) {
    const std::string_view key = as_text(bytes);
    const std::uint64_t number = key_number(family.id, key);
    const std::string name = key_file_name(key, number);
    if (key_number_in(name)) long_names_.add({family.id, number}, std::string(key), key.size());
    return take({name, key, version, at});
  });
}

Result<std::string> KeyFiles::names_table(const RequestContext& context, std::uint32_t family) const {
  TRY(context.permit_slow_work());
  std::string table(kNamesHeader);
  const auto keys = database_->keys(family, {});
  while (true) {
    ASSIGN_OR_RETURN(const bool has_key, keys->next(context));
    if (!has_key) break;
    const std::string_view key = as_text(keys->key());
    const std::string name = key_file_name(key, key_number(family, key));
    if (name == key) continue;
    table.append(name).append(1, '\t').append(percent_encoded(key, "")).append(1, '\n');
    if (table.size() > kMostOfNames) return Error{.code = Code::kLimit, .detail = "names.tsv is too large"};
  }
  return table.size() == kNamesHeader.size() ? std::string() : table;
}

}  // namespace recordfs
