#include "core/database/key_iterators.h"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/database/key_pass.h"
#include "core/database/lookup.h"

namespace recordfs::database {
namespace {

std::vector<Age> ages_of(const State& state, const FamilyView& family) {
  std::vector<Age> ages{Age{.level = -1}};
  for (const Run& run : family.runs) {
    for (const TableFile* file : run.tables) ages.push_back(state.age_of(*file));
  }
  return ages;
}

// Returns keys of one state. If a file of the state is gone before the first key, takes the present one.
class Iterator final : public KeyIterator {
 public:
  Iterator(std::shared_ptr<PresentState> present, std::uint32_t family, KeyRange range, const Snapshot& at)
      : present_(std::move(present)), family_(family), range_(std::move(range)), at_(at) {}

  Result<bool> next(const RequestContext& context) override {
    constexpr int kMostPasses = 20;
    for (int attempt = 1;; ++attempt) {
      auto found = advance(context);
      if (!found) is_broken_ = true;
      is_state_gone_ = !found && is_gone(found.error());
      if (found || !is_state_gone_) return found;
      if (last_key_ || attempt == kMostPasses) return in_use();
    }
  }

  Bytes key() const override { return as_bytes(pass_->key()); }
  const Version& version() const override { return version_; }
  Result<Slice> value(const RequestContext& context) const override {
    TRY(check_readable());
    return key_value_of(context, pass_->state(), pass_->family(), pass_->writes(), key());
  }
  Result<std::vector<Column>> columns(const RequestContext& context) const override {
    TRY(check_readable());
    return key_columns_of(context, pass_->state(), pass_->family(), pass_->writes(), key());
  }

 private:
  Result<void> check_readable() const {
    if (version_.unread) return unread_error(*version_.unread);
    if (pass_->missing_writes()) return *pass_->missing_writes();
    return {};
  }

  Result<bool> advance(const RequestContext& context) {
    if (!pass_ || is_broken_) TRY(start(context));
    ASSIGN_OR_RETURN(const bool found, pass_->next(context));
    if (!found) return false;
    // Before the key is returned, because a later pass cannot return it again.
    for (const StoredWrite& write : pass_->writes()) {
      if (auto opened = open_value(*pass_->state(), write); !opened && is_gone(opened.error())) return opened.error();
    }
    last_key_ = pass_->key();
    present_->note_answer();
    version_ = version_of(pass_->writes().front(), pass_->staleness());
    if (version_.operation == Operation::kMerge) version_.size.reset();
    return true;
  }

  // A pass that failed cannot continue.
  Result<void> start(const RequestContext& context) {
    if (is_state_gone_) {
      ASSIGN_OR_RETURN(state_, present_->in_place_of(context, state_.get()));
    } else if (!state_) {
      state_ = present_->get();
    }
    ASSIGN_OR_RETURN(auto pass, make_pass(state_, family_, range_, at_));
    std::optional<Bytes> after;
    if (last_key_) after = as_bytes(*last_key_);
    TRY(pass->start(context, after));
    pass_ = std::move(pass);
    is_broken_ = false;
    return {};
  }

  const std::shared_ptr<PresentState> present_;
  const std::uint32_t family_;
  const KeyRange range_;
  const Snapshot at_;
  std::shared_ptr<const State> state_;
  std::unique_ptr<Pass> pass_;
  bool is_broken_ = false;
  bool is_state_gone_ = false;  // files of it
  std::optional<std::string> last_key_;
  Version version_;
};

}  // namespace

Result<std::unique_ptr<Pass>> make_pass(std::shared_ptr<const State> state, std::uint32_t family, const KeyRange& range,
                                        const Snapshot& at) {
  auto sources = std::make_unique<Sources>();
  sources->state = std::move(state);
  sources->family = sources->state->family(family);
  if (sources->family == nullptr) {
    return Error{.code = Code::kNotFound, .detail = fmt::format("there is no column family {}", family)};
  }
  const FamilyView& view = *sources->family;
  TRY(check_snapshot(view, at));
  sources->losses.emplace(view.order.of_user_keys(), [of = sources->state, &view] { return ages_of(*of, view); });
  for (const Loss& loss : sources->state->losses()) {
    if (!loss.family || *loss.family == family) sources->losses->add(loss);
  }
  sources->all.push_back(source_of_logs(*sources->state, view));
  const auto memory = MemoryBudget::of(sources->state->options().limits);
  for (const Run& run : view.runs) {
    auto take_loss = [to = sources.get()](Loss loss) { to->losses->add(std::move(loss)); };
    sources->all.push_back(source_of_run(*sources->state, view, run, std::move(take_loss), memory));
  }
  return view.order.is_known() ? make_merge_pass(std::move(sources), range, at)
                               : make_file_order_pass(std::move(sources), range, at);
}

std::unique_ptr<KeyIterator> iterate_keys(std::shared_ptr<PresentState> present, std::uint32_t family, KeyRange range,
                                          const Snapshot& at) {
  return std::make_unique<Iterator>(std::move(present), family, std::move(range), at);
}

}  // namespace recordfs::database
