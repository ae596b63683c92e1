// The views of a container's tree. Each factory returns null if the container has no such view.
//
// A new view is a class in a .cc file of its own, a factory here, a ViewId with rows in the tables of node_types.h
// (append kinds and static nodes, never insert), and a line in CMakeLists.txt.
#pragma once

#include <array>
#include <memory>

#include "fusefs/tree/view.h"

namespace recordfs {

using ViewPointer = std::unique_ptr<const View>;

ViewPointer make_static_view(const ContainerTree& tree);    // the root, .views/, index/, streams/; generated texts
ViewPointer make_records_view(const ContainerTree& tree);   // records/, thousands/ and chunks/OFFSET/records/
ViewPointer make_chunks_view(const ContainerTree& tree);    // chunks/ without the records
ViewPointer make_metadata_view(const ContainerTree& tree);  // metadata/
ViewPointer make_damage_view(const ContainerTree& tree);    // damage/
ViewPointer make_inside_view(const ContainerTree& tree);    // inside/
ViewPointer make_keys_view(const ContainerTree& tree);      // keys/
ViewPointer make_streams_view(const ContainerTree& tree);   // files in streams/, and index/chunks.tsv
ViewPointer make_array_view(const ContainerTree& tree);     // array.npy
ViewPointer make_trailer_view(const ContainerTree& tree);   // trailer

// By ViewId.
inline constexpr std::array kViewFactories = {
    make_static_view, make_records_view, make_chunks_view,  make_metadata_view, make_damage_view,
    make_inside_view, make_keys_view,    make_streams_view, make_array_view,    make_trailer_view,
};

}  // namespace recordfs
