// Prints the records that meet a condition on their fields, one JSON document a line: filter PATH CONDITION
#include <iostream>
#include <recordfs.hpp>

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto dataset = recordfs::Dataset::open(arguments[1]);
  if (!dataset) {
    std::cerr << dataset.error().text() << '\n';
    return 2;
  }
  auto records = dataset->records(0, UINT64_MAX, arguments[2]);
  if (!records) {
    std::cerr << records.error().text() << '\n';
    return 2;
  }
  bool is_whole = true;
  for (const auto& record : *records) {  // ends after an error that cannot be continued
    const auto json = record ? dataset->json(record->ordinal) : record.error();
    if (json) {
      std::cout << json->text() << '\n';
    } else {
      std::cerr << json.error().text() << '\n';
      is_whole = false;
    }
  }
  return is_whole ? 0 : 1;
}
