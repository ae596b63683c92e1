// The words and options of `export`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/dataset/random_order.h"
#include "core/export/export_columns.h"
#include "core/export/export_files.h"
#include "core/export/export_format.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/where.h"

namespace CLI {
class App;
}

namespace recordfs {

struct ExportOptions {
  ReadingOptions reading;
  RecordWords words;
  RandomOptions random;
  std::string output;
  std::string form_name;  // of --to
  ShardingOptions sharding;
  UserTypes types;
  ConditionPointer condition;  // on which records are exported
  ColumnChoice columns;
  std::vector<TarMember> members;
  std::optional<std::string> key;  // of archives
  ByteForm bytes = ByteForm::kAuto;
  std::shared_ptr<MixedBytes> mixed = std::make_shared<MixedBytes>();  // null: --bytes is given
  bool replaces = false;
  bool skips_damage = false;

  // Declares the options on `app`. The object must outlive the parsing.
  void declare(CLI::App& app);

  // Returns nullopt if the name stands for no form. After the parsing it stands for one.
  std::optional<ExportForm> form() const { return export_form_of(form_name.empty() ? output : form_name); }
  // Returns where it is, as messages name it.
  std::string shown_output() const { return output == "-" ? "standard output" : output; }
};

}  // namespace recordfs
