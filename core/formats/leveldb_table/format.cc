#include "core/formats/leveldb_table/format.h"

#include <utility>

#include "core/formats/leveldb_table/container.h"
#include "core/formats/leveldb_table/survey.h"

namespace recordfs::leveldb_table {
namespace {

Result<int> probe(const Source& source, std::string_view file_name, ProbeDepth depth) {
  return bid_for(source, file_name, depth);
}

Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits) {
  ASSIGN_OR_RETURN(auto found, survey(*source, limits));
  if (!found) return Error{Code::kNoContainer, 0, "neither the footer of a table nor a valid first block was found"};
  return std::unique_ptr<Container>(std::make_unique<TableContainer>(std::move(source), limits, std::move(*found)));
}

}  // namespace

const Format kFormat = {.name = "leveldb-table", .probe = probe, .open = open};

}  // namespace recordfs::leveldb_table
