// Copies the first or the last records of a data set (head, tail).
#pragma once

#include <cstdint>
#include <string>

#include "core/dataset/reporter.h"
#include "core/dataset/set_reader.h"
#include "core/export/record_text.h"
#include "core/output/text_output.h"
#include "core/store/record_store.h"
#include "core/store/selection.h"

namespace recordfs {

// Which records at an end of a set: N of `head -n` and `tail -n`.
struct EndRecords {
  bool is_head = true;
  char sign = '\0';  // '-' of head: all but the last `records`; '+' of tail: from this one on, which counts from 1
  std::int64_t records = 10;

  OrdinalRange range() const;
  // Returns the first record that `tail` copies of a file with so many.
  std::uint64_t first_of(std::uint64_t all) const;
};

// Copies these records, or as many of those that the form's condition selects. Reports what fails. Returns whether all
// records were read, as far as the condition had to be applied to them.
bool copy_end(const EndRecords& wanted, const FormOptions& form, SetReader& reader, Reporter& reporter,
              TextOutput& output);

// Copies some records of a container, and flushes the output. Reports what fails. Returns false if copying has to stop.
bool copy_records(const std::string& path, const RecordStore& store, const OrdinalInterval& records,
                  const FormOptions& form, Reporter& reporter, TextOutput& output);

}  // namespace recordfs
