// Prints the keys of a LevelDB or RocksDB database with the sizes of their values, or one value: database PATH [KEY]
#include <iostream>
#include <recordfs.hpp>

namespace {

int fail(const recordfs::Error& error) {
  std::cerr << error.text() << '\n';
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const auto database = recordfs::Database::open(arguments[1]);
  if (!database) return fail(database.error());
  if (count == 3) {
    const auto value = database->get(arguments[2]);
    if (!value) return fail(value.error());
    std::cout << value->text();
    return 0;
  }
  auto keys = database->keys();
  if (!keys) return fail(keys.error());
  int status = 0;
  for (const auto& entry : *keys) {
    if (entry) {
      std::cout << entry->key_text() << ' ' << entry->value_size << (entry->may_be_stale ? " (may be old)\n" : "\n");
    } else {
      status = fail(entry.error());
    }
  }
  return status;
}
