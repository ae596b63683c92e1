#include "core/formats/riegeli/transposed/projection.h"

#include <cstddef>
#include <optional>

#include "core/formats/riegeli/transposed/machine.h"

namespace recordfs::riegeli::transposed {
namespace {

using Place = FieldProjection::Place;

constexpr Place kUndecided = FieldProjection::kExcluded - 1;

// Runs a program, and decides for each node, when it is first reached, whether its field is wanted. Nodes whose field
// is not wanted become idle, and later runs skip sequences of them.
class Projector {
 public:
  Projector(const RequestContext& context, Program& program, LazyBuffers& buffers, const DeclaredSizes& declared,
            const FieldProjection& wanted, Output& out)
      : context_(context),
        program_(program),
        buffers_(buffers),
        wanted_(wanted),
        out_(out),
        state_(context, buffers.size(), declared.records),
        deepest_(declared.decoded / 2) {
    context.announce(program.nodes.size() * sizeof(Decision) + buffers.size() * sizeof(Use));
    decisions_.resize(program.nodes.size());
    uses_.resize(buffers.size());
    state_.inputs.resize(buffers.size());
    state_.inputs.push_back({kNoBytes, kWordBytes});
  }

  // Each step costs a bounded part of what the whole chunk has: see run() in decode.cc.
  void limit_steps(const DeclaredSizes& declared, std::size_t transitions) {
    constexpr std::uint64_t kLeast = 16;
    steps_left_ = 2 * (declared.decoded + declared.records) + transitions + kLeast;
  }

  Failure act(std::uint32_t at) {
    if (steps_left_-- == 0) return "more steps than the chunk needs";
    const Node& node = program_.nodes[at];
    if (node.action == Action::kNothing && decisions_[at].parent == place_) {
      if (node.implicit) shorten(at);
      return nullptr;
    }
    if (node.tag == 0) return act_outside_fields(node);
    if (node.tag % kKinds == kGroupStart) return begin_group(node);
    if (decisions_[at].parent != place_) {
      if (const Failure failure = decide(at)) return failure;
    }
    return act_on_field(at);
  }

  // Returns why a bucket could not be opened, if that is what act() failed for.
  std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }

  Failure check_end() const { return open_.empty() ? state_.check_end(out_) : "a message ends without a beginning"; }
  std::vector<std::uint64_t> take_records() { return std::move(state_.records); }

 private:
  // About a node with a field.
  struct Decision {
    Place parent = kUndecided;  // of the message that has the field
    Place inside = kUndecided;  // of the field
  };
  // Of a buffer.
  struct Use {
    bool is_wanted = false;
    bool is_unwanted = false;
  };
  // A submessage or a group.
  struct OpenMessage {
    OpenSubmessage end;
    std::uint32_t tag = 0;
    Place parent = FieldProjection::kRecord;
  };

  bool is_wanted() const { return place_ != FieldProjection::kExcluded; }

  Failure act_outside_fields(const Node& node) {
    switch (node.action) {
      case Action::kSubmessageStart: return begin_submessage();
      case Action::kRecordStart: return open_.empty() ? begin_record(state_, out_.written()) : kOpenMessage;
      case Action::kPlainRecord:
        if (!open_.empty()) return kOpenMessage;
        for (const std::size_t buffer : {std::size_t{node.buffer}, state_.lengths}) {
          if (const Failure failure = use(buffer)) return failure;
        }
        return put_plain_record(state_, out_, node);
      default: return nullptr;
    }
  }

  Failure act_on_field(std::uint32_t at) {
    const Node& node = program_.nodes[at];
    switch (node.action) {
      case Action::kSubmessageEnd: return end_message(at, node);
      case Action::kConstant:
        if (node.tag % kKinds == kGroupEnd) return end_message(at, node);
        return put_constant(out_, node.constant, node.constant_size);
      case Action::kValue: return put_value(out_, state_.inputs[node.buffer], node);
      case Action::kLongVarint: return put_long_varint(out_, state_.inputs[node.buffer], node);
      case Action::kString: return put_string(out_, state_.inputs[node.buffer], node);
      default: return nullptr;
    }
  }

  // An encoder makes a node for each field of each message.
  Failure decide(std::uint32_t at) {
    Decision& decision = decisions_[at];
    if (decision.parent != kUndecided) return "a node has fields of several messages";
    Node& node = program_.nodes[at];
    decision = {place_, wanted_.field(place_, node.tag / kKinds)};
    const bool has_content = node.action == Action::kSubmessageEnd || node.tag % kKinds == kGroupEnd;
    if (has_content) return nullptr;
    const bool reads = node.buffer < buffers_.size();
    if (decision.inside != FieldProjection::kExcluded) return reads ? use(node.buffer) : nullptr;
    node.action = Action::kNothing;
    if (!reads) return nullptr;
    uses_[node.buffer].is_unwanted = true;
    return uses_[node.buffer].is_wanted ? kShared : nullptr;
  }

  // Makes a buffer readable.
  Failure use(std::size_t buffer) {
    Use& use = uses_[buffer];
    if (use.is_unwanted) return kShared;
    if (use.is_wanted) return nullptr;
    auto bytes = buffers_.open(context_, buffer);
    if (!bytes) {
      error_ = std::move(bytes).error();
      return kClosed;
    }
    use.is_wanted = true;
    state_.inputs[buffer].bytes = *bytes;
    return nullptr;
  }

  // Lets an idle node pass over the idle node that it is followed by. Both have fields of one message, so that checking
  // the first is enough.
  void shorten(std::uint32_t at) {
    Node& node = program_.nodes[at];
    const Node& next = program_.nodes[node.next];
    const bool is_idle = next.action == Action::kNothing && (next.tag == 0 || decisions_[node.next].parent == place_);
    if (!is_idle) return;
    node.implicit = next.implicit;
    node.next = next.next;
  }

  Failure end_message(std::uint32_t at, const Node& node) {
    if (open_.size() >= deepest_) return "more messages are open than the chunk can hold";
    context_.announce_growth(open_);
    open_.push_back({{out_.written(), node.constant, node.constant_size}, node.tag, place_});
    place_ = decisions_[at].inside;
    if (node.action != Action::kConstant || !is_wanted()) return nullptr;
    return put_constant(out_, node.constant, node.constant_size);
  }

  Failure begin_submessage() {
    if (open_.empty() || open_.back().tag % kKinds == kGroupEnd) return "a submessage begins without an end";
    const OpenMessage begun = open_.back();
    const Failure failure = is_wanted() ? put_begin(out_, begun.end) : nullptr;
    open_.pop_back();
    place_ = begun.parent;
    return failure;
  }

  Failure begin_group(const Node& node) {
    const std::uint32_t end_tag = node.tag - kGroupStart + kGroupEnd;
    if (open_.empty() || open_.back().tag != end_tag) return "a group begins without an end";
    const Failure failure = is_wanted() ? put_constant(out_, node.constant, node.constant_size) : nullptr;
    place_ = open_.back().parent;
    open_.pop_back();
    return failure;
  }

  static constexpr Failure kOpenMessage = "a record begins inside a message";
  static constexpr Failure kShared = "fields share a buffer, and not all are wanted";
  static constexpr Failure kClosed = "a bucket cannot be opened";

  const RequestContext& context_;
  Program& program_;
  LazyBuffers& buffers_;
  const FieldProjection& wanted_;
  Output& out_;
  State state_;
  const std::size_t deepest_;
  std::uint64_t steps_left_ = 0;
  Place place_ = FieldProjection::kRecord;  // of the message that has the next field
  std::vector<OpenMessage> open_;           // innermost last
  std::vector<Decision> decisions_;         // by node
  std::vector<Use> uses_;                   // by buffer
  std::optional<Error> error_;
};

}  // namespace

Result<ProjectedRecords> run_projected(const RequestContext& context, Program& program, LazyBuffers& buffers,
                                       Bytes transitions, const DeclaredSizes& declared,
                                       const FieldProjection& wanted) {
  // Only the pages at its end are used.
  ASSIGN_OR_RETURN(auto room, Buffer::allocate(context, static_cast<std::size_t>(declared.decoded)));
  Output out(room.span());
  Projector projector(context, program, buffers, declared, wanted, out);
  projector.limit_steps(declared, transitions.size());
  Failure failure =
      step_through(context, program, transitions, [&projector](std::uint32_t at) { return projector.act(at); });
  if (failure == kCancelled) return context.spend(0).error();
  if (auto error = projector.take_error()) return std::move(*error);
  if (failure == nullptr) failure = projector.check_end();
  if (failure != nullptr) return damage(failure);
  ASSIGN_OR_RETURN(auto payload, Buffer::copy_of(context, room.view().last(out.written())));
  return ProjectedRecords{std::move(payload), projector.take_records()};
}

}  // namespace recordfs::riegeli::transposed
