// FileVerifier: verifies files that were listed, several at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/dataset/listed_files.h"
#include "core/store/open_container.h"
#include "core/verify/checked_databases.h"
#include "core/verify/verification.h"
#include "core/verify/verify_state.h"

namespace recordfs {

class FileVerifier {
 public:
  struct Options {
    unsigned threads = 1;
    std::optional<std::int64_t> max_age{};  // seconds; files that passed longer ago are read again
  };
  // What it asks of the caller, on any thread.
  struct Caller {
    std::function<Result<OpenedFile>(const RequestContext& context, const std::string& path)> open;
    std::function<bool()> goes_on;                      // false: ends soon
    std::function<void(std::uint64_t bytes)> has_read;  // bytes that were verified or skipped
  };

  // `databases` has those that the files belong to. `state` may be null. The arguments must outlive the object.
  FileVerifier(const Options& options, Caller caller, const CheckedDatabases& databases, VerifyState* state)
      : options_(options), caller_(std::move(caller)), databases_(databases), state_(state) {}

  // Verifies several small files at a time, each on one thread. Meanwhile verifies large files, one at a time, each on
  // all threads. Passes the outcomes on, in the order of the files, on the calling thread. That of a file that was not
  // verified, because the caller ended it, is ignored.
  void verify_all(const std::vector<ListedFile>& files,
                  const std::function<void(std::size_t number, Outcome& outcome)>& take);

 private:
  std::optional<Passed> passed_earlier(const ListedFile& file) const;
  Outcome verify_file(const ListedFile& file);
  Outcome verify_open(const ListedFile& file, const RecordStore& store);
  Verdict verify_store(const RecordStore& store);
  void check_as_file_of_database(const std::string& path, const RecordStore& store, Verdict& verdict) const;
  void remember(const Outcome& outcome, const SourceId& opened, bool is_container) const;

  const Options& options_;
  const Caller caller_;
  const CheckedDatabases& databases_;
  VerifyState* const state_;
  std::mutex large_;  // held while a large file is verified
};

}  // namespace recordfs
