// An object that the client has opened, and the task of reading bytes of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/fetch/block_sums.h"
#include "core/fetch/disk_cache.h"
#include "core/fetch/exchange.h"
#include "core/fetch/origin.h"
#include "core/fetch/snapshot.h"
#include "core/fetch/spool.h"

namespace recordfs::fetch {

struct Object {
  std::string name{};  // printable
  std::string url{};
  Origin* origin = nullptr;
  Reach reach{};
  bool uses_netrc = false;
  std::optional<Snapshot> snapshot{};
  std::optional<HttpRequest> target{};     // of a redirect, which later requests go to at once
  std::shared_ptr<const Spool> spool{};    // all bytes, of a server that sends no ranges
  std::shared_ptr<CachedObject> cached{};  // null: not cached
};

// Reads the bytes [begin, end) of an object, or fewer at its end, to `out`, which has room for them. Fixes the snapshot
// of an object that has none. Not thread-safe.
class ObjectTask final : public ExchangeTask {
 public:
  // `spool_folder`: where whole objects are stored if need be; -1: in memory. All must outlive it. Fails with kChanged
  // if the object has no snapshot, and its first response shows that it ends before `begin`. REQUIRES: begin < end.
  ObjectTask(Object& object, std::uint64_t begin, std::uint64_t end, MutableBytes out, int spool_folder);

  Result<Outgoing> request() override;
  Verdict take_head(const HttpResponse& response, const Origin::Linked& linked) override;
  bool take_body(Bytes piece) override;
  Verdict end_body(const std::string& failure) override;
  bool is_small() const override { return end_ - begin_ - received_ <= kSmall; }
  std::uint64_t progress() const override { return received_; }
  Result<void> take_redirect(const HttpRequest& target) override;
  void forget_target() override { object_.target.reset(); }

  // Computes no checksums. Call it before the first request.
  void leave_out_sums() { sums_.give_up(); }
  // Returns the bytes at the front of `out` that are there.
  std::uint64_t received() const { return received_; }
  // Returns the checksums of the whole blocks among them.
  const BlockSums& sums() const { return sums_; }
  // Returns whether the server has sent the whole object where a part was wanted, and it was stored.
  bool has_spooled() const { return has_spooled_; }

 private:
  static constexpr std::uint64_t kSmall = 512u << 10;  // bytes

  Verdict take_part(const HttpResponse& response, const Origin::Linked& linked);
  Verdict take_whole(const HttpResponse& response, const Origin::Linked& linked);
  Verdict take_unsatisfiable(const HttpResponse& response, const Origin::Linked& linked);
  // Compares the response with the snapshot, or makes it the snapshot. nullopt: go on.
  std::optional<Verdict> check(const HttpResponse& response, const Origin::Linked& linked,
                               std::optional<std::uint64_t> size);
  // The server has refused the first range, or answered it, as if the object were empty.
  Verdict ask_for_all();
  Verdict end_spool(const std::string& failure);

  Object& object_;
  const std::uint64_t begin_;
  std::uint64_t end_;
  const MutableBytes out_;
  const int spool_folder_;
  std::uint64_t received_ = 0;
  std::uint64_t attempt_ = 0;            // received_ when the present attempt began
  std::uint64_t expected_ = 0;           // bytes that the body must still have
  std::string url_{};                    // of the last request, without userinfo
  std::optional<HttpRequest> target_{};  // of the present attempt
  std::shared_ptr<Spool> spool_{};
  BlockSums sums_;
  bool is_too_long_ = false;
  bool asks_for_all_ = false;  // no range: the object may be empty, which no response to a range has proved
  bool has_spooled_ = false;
};

}  // namespace recordfs::fetch
