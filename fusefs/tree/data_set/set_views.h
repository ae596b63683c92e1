// The views of a data set's own nodes, as view.h has those of a container.
#pragma once

#include <array>
#include <memory>

#include "fusefs/tree/data_set/data_set_shards.h"
#include "fusefs/tree/data_set/set_nodes.h"
#include "fusefs/tree/view.h"

namespace recordfs {

// A new view is a class in a .cc file of its own, a factory here, a ViewId with rows in the tables of set_nodes.h, and
// a line in CMakeLists.txt. All arguments must outlive the view. Views are kPending until DataSet has counted far
// enough, or as the container that they ask.
using SetViewPointer = std::unique_ptr<const View>;

SetViewPointer make_set_tables_view(const NodeTree& nodes, DataSetShards& shards,
                                    TreeContext& cache);  // info.json, index/
SetViewPointer make_set_records_view(const NodeTree& nodes, DataSetShards& shards, TreeContext& cache);
SetViewPointer make_set_insides_view(const NodeTree& nodes, DataSetShards& shards, TreeContext& cache);
SetViewPointer make_set_streams_view(const NodeTree& nodes, DataSetShards& shards, TreeContext& cache);
SetViewPointer make_set_shards_view(const NodeTree& nodes, DataSetShards& shards, TreeContext& cache);

struct SetViewFactory {
  ViewId id;
  SetViewPointer (*make)(const NodeTree& nodes, DataSetShards& shards, TreeContext& cache);
};
inline constexpr std::array kSetViewFactories = {
    SetViewFactory{ViewId::kStatic, make_set_tables_view},  SetViewFactory{ViewId::kRecords, make_set_records_view},
    SetViewFactory{ViewId::kInside, make_set_insides_view}, SetViewFactory{ViewId::kStreams, make_set_streams_view},
    SetViewFactory{ViewId::kShards, make_set_shards_view},
};

}  // namespace recordfs
