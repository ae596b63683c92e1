// One open container and everything that is known of it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/store/chunk_index.h"
#include "core/store/chunk_reader.h"
#include "core/store/damage_log.h"
#include "core/store/record_reader.h"
#include "core/store/stored_file.h"

namespace recordfs {

class RecordStore;

// How a store treats its file.
struct FollowOptions {
  // The file is still being written: its unfinished end is neither shown nor reported as damage, and addresses leave
  // room for growth.
  bool is_followed = false;
  // The store of the same file when it was shorter. The new one uses the same addresses, and takes over its results and
  // what it has logged. Need not outlive the constructor.
  const RecordStore* shorter = nullptr;
};

// All functions, and those of the four parts, may be called from any thread. One that returns a Result works on the
// calling thread, as far as the RequestContext permits: it fails with kPending if a permission is missing or a scan has
// not reached the answer (Error::wait tells which), and with kInterrupted if the request was cancelled.
class RecordStore {
 public:
  // `name` is the file's name in log lines and errors. `services` must outlive the store. StoreResources bounds the
  // caches of chunks and layouts; Catalog::Bounds bounds what a container keeps besides.
  RecordStore(std::string name, std::shared_ptr<const Source> source, std::unique_ptr<const Container> container,
              StoreResources& services, Catalog::Bounds bounds = {}, FollowOptions follow = {});

  const ChunkIndex& index() const { return index_; }
  const ChunkReader& chunks() const { return chunks_; }
  const RecordReader& records() const { return records_; }
  const StreamReader& streams() const { return streams_; }
  DamageLog& log() const { return log_; }

  const std::string& name() const { return file_.name; }
  const Source& source() const { return *file_.source; }
  const std::shared_ptr<const Source>& shared_source() const { return file_.source; }
  const Limits& limits() const { return file_.services.limits; }

  // As in Container.
  const ContainerTraits& traits() const { return file_.container->traits(); }
  const RecordSchema& schema() const { return file_.container->schema(); }
  const Metadata* metadata() const { return file_.container->metadata(); }
  const TrailerReader* trailer() const { return file_.container->trailer(); }
  const BulkReader* bulk() const { return file_.container->bulk(); }
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const {
    return file_.container->verify(context, chunk);
  }

  // Returns the container's metadata, and caches it. Logs failures. kPending if it changes along the file.
  Result<std::shared_ptr<const std::vector<Attribute>>> attributes(const RequestContext& context) const;

 private:
  const StoredFile file_;
  mutable DamageLog log_;
  const ChunkIndex index_;
  const ChunkReader chunks_;
  const RecordReader records_;
  const StreamReader streams_;
  mutable std::mutex mutex_;  // guards the next
  mutable std::shared_ptr<const std::vector<Attribute>> attributes_;
};

}  // namespace recordfs
