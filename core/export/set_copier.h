// SetCopier: copies ranges and splits of a data set to an output (cat, head, tail).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "core/dataset/reporter.h"
#include "core/dataset/set_reader.h"
#include "core/dataset/splits.h"
#include "core/export/record_copier.h"
#include "core/export/record_text.h"
#include "core/output/text_output.h"
#include "core/store/selection.h"

namespace recordfs {

// Not thread-safe. The functions report what fails, and return false if copying has to stop.
class SetCopier {
 public:
  // The arguments must outlive the object.
  SetCopier(const FormOptions& form, SetReader& reader, Reporter& reporter, TextOutput& output)
      : form_(form), reader_(reader), reporter_(reporter), output_(output) {}

  // Copies a range, or the record at an address. One that cannot be found does not stop it. `window`: which of the
  // records of a condition are wanted; null: all.
  bool copy(const std::variant<OrdinalRange, RecordAddress>& records);
  bool copy(const OrdinalRange& range, SelectedWindow* window = nullptr);
  // Copies a part. Before its records, calls `begin_first` if it is the first part of the set.
  bool copy(const Split& split, const std::function<void()>& begin_first);
  bool copy(const SetPart& part, const std::function<void()>& begin_first);

 private:
  // A shard of which single records are copied.
  struct Opened {
    Opened(SetMember opened, const FormOptions& form, Reporter& reporter, TextOutput& output)
        : member(std::move(opened)), copier(member, form, reporter, output) {}
    const SetMember member;
    RecordCopier copier;
  };

  bool copy_at(const RecordAddress& address);
  bool copy(const SetMember& member, const Split& split);
  std::optional<std::uint64_t> copy_one(const SetMember& member, Selection selection);
  // Keeps that of the last record, because the next one is often in the same shard.
  RecordCopier& copier_of(const SetMember& member);

  const FormOptions& form_;
  SetReader& reader_;
  Reporter& reporter_;
  TextOutput& output_;
  std::unique_ptr<Opened> last_;
};

}  // namespace recordfs
