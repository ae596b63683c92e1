#include "core/formats/tfrecord/event_file.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/cursor.h"
#include "core/base/parse_number.h"
#include "core/base/protobuf.h"
#include "core/formats/built_in_types.h"
#include "core/formats/message_shapes.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::string_view kEventType = "tensorflow.Event";
constexpr std::string_view kVersion = "brain.Event:";

// From the public field numbers of TensorFlow's event.proto, summary.proto, histogram.proto and tensor.proto. Messages
// that are stored as bytes there, or that event files do not have, remain bytes.
constexpr std::string_view kTypes = R"(
message Event
  double wall_time 1
  int64 step 2
  string file_version 3 what
  bytes graph_def 4 what
  Summary summary 5 what
  LogMessage log_message 6 what
  SessionLog session_log 7 what
  TaggedRunMetadata tagged_run_metadata 8 what
  bytes meta_graph_def 9 what
  SourceMetadata source_metadata 10
message SourceMetadata
  string writer 1
message LogMessage
  LogMessage.Level level 1
  string message 2
enum LogMessage.Level
  UNKNOWN 0
  DEBUGGING 10
  INFO 20
  WARN 30
  ERROR 40
  FATAL 50
message SessionLog
  SessionLog.SessionStatus status 1
  string checkpoint_path 2
  string msg 3
enum SessionLog.SessionStatus
  STATUS_UNSPECIFIED 0
  START 1
  STOP 2
  CHECKPOINT 3
message TaggedRunMetadata
  string tag 1
  bytes run_metadata 2
message Summary
  Summary.Value* value 1
message Summary.Image
  int32 height 1
  int32 width 2
  int32 colorspace 3
  bytes encoded_image_string 4
message Summary.Audio
  float sample_rate 1
  int64 num_channels 2
  int64 length_frames 3
  bytes encoded_audio_string 4
  string content_type 5
message Summary.Value
  string tag 1
  string node_name 7
  float simple_value 2 value
  bytes obsolete_old_style_histogram 3 value
  Summary.Image image 4 value
  HistogramProto histo 5 value
  Summary.Audio audio 6 value
  TensorProto tensor 8 value
  SummaryMetadata metadata 9
message SummaryMetadata
  SummaryMetadata.PluginData plugin_data 1
  string display_name 2
  string summary_description 3
  SummaryMetadata.DataClass data_class 4
message SummaryMetadata.PluginData
  string plugin_name 1
  bytes content 2 ?plugin_name=hparams:tensorboard.hparams.HParamsPluginData
enum SummaryMetadata.DataClass
  DATA_CLASS_UNKNOWN 0
  DATA_CLASS_SCALAR 1
  DATA_CLASS_TENSOR 2
  DATA_CLASS_BLOB_SEQUENCE 3
message HistogramProto
  double min 1
  double max 2
  double num 3
  double sum 4
  double sum_squares 5
  double* bucket_limit 6
  double* bucket 7
message TensorShapeProto
  TensorShapeProto.Dim* dim 2
  bool unknown_rank 3
message TensorShapeProto.Dim
  int64 size 1
  string name 2
message TensorProto
  TensorProto.DataType dtype 1
  TensorShapeProto tensor_shape 2
  int32 version_number 3
  bytes tensor_content 4
  float* float_val 5
  double* double_val 6
  int32* int_val 7
  bytes* string_val 8
  float* scomplex_val 9
  int64* int64_val 10
  bool* bool_val 11
  double* dcomplex_val 12
  int32* half_val 13
  bytes* resource_handle_val 14
  bytes* variant_val 15
  uint32* uint32_val 16
  uint64* uint64_val 17
  bytes float8_val 18
enum TensorProto.DataType
  DT_INVALID 0
  DT_FLOAT 1
  DT_DOUBLE 2
  DT_INT32 3
  DT_UINT8 4
  DT_INT16 5
  DT_INT8 6
  DT_STRING 7
  DT_COMPLEX64 8
  DT_INT64 9
  DT_BOOL 10
  DT_QINT8 11
  DT_QUINT8 12
  DT_QINT32 13
  DT_BFLOAT16 14
  DT_QINT16 15
  DT_QUINT16 16
  DT_UINT16 17
  DT_COMPLEX128 18
  DT_HALF 19
  DT_RESOURCE 20
  DT_VARIANT 21
  DT_UINT32 22
  DT_UINT64 23
  DT_FLOAT8_E5M2 24
  DT_FLOAT8_E4M3FN 25
  DT_FLOAT8_E4M3FNUZ 26
  DT_FLOAT8_E4M3B11FNUZ 27
  DT_FLOAT8_E5M2FNUZ 28
  DT_INT4 29
  DT_UINT4 30
  DT_INT2 31
  DT_UINT2 32
  DT_FLOAT4_E2M1FN 33
)";

// From the public field numbers of TensorBoard's plugins/hparams/plugin_data.proto and api.proto.
constexpr std::string_view kHParams = R"(
message HParamsPluginData
  int32 version 1
  Experiment experiment 2 data
  SessionStartInfo session_start_info 3 data
  SessionEndInfo session_end_info 4 data
message SessionStartInfo
  map:google.protobuf.Value hparams 1
  string model_uri 2
  string monitor_url 3
  string group_name 4
  double start_time_secs 5
message SessionEndInfo
  Status status 1
  double end_time_secs 2
message Experiment
  string name 6
  string description 1
  string user 2
  double time_created_secs 3
  HParamInfo* hparam_infos 4
  MetricInfo* metric_infos 5
message HParamInfo
  string name 1
  string display_name 2
  string description 3
  DataType type 4
  google.protobuf.ListValue domain_discrete 5 domain
  Interval domain_interval 6 domain
  bool differs 7
message Interval
  double min_value 1
  double max_value 2
message MetricName
  string group 1
  string tag 2
message MetricInfo
  MetricName name 1
  string display_name 3
  string description 4
  DatasetType dataset_type 5
enum DataType
  DATA_TYPE_UNSET 0
  DATA_TYPE_STRING 1
  DATA_TYPE_BOOL 2
  DATA_TYPE_FLOAT64 3
enum DatasetType
  DATASET_UNKNOWN 0
  DATASET_TRAINING 1
  DATASET_VALIDATION 2
enum Status
  STATUS_UNKNOWN 0
  STATUS_SUCCESS 1
  STATUS_FAILURE 2
  STATUS_RUNNING 3
)";

class EventFile final : public ForwardingContainer, private Metadata {
 public:
  using ForwardingContainer::ForwardingContainer;

  const Metadata* metadata() const override { return this; }

 private:
  Result<std::vector<Attribute>> attributes(const RequestContext&, const ChunkInfo*) const override {
    return std::vector<Attribute>{};
  }
  Result<std::string_view> record_type(const RequestContext&) const override { return kEventType; }
  bool has_descriptors() const override { return true; }
  Result<std::shared_ptr<const std::string>> descriptors(const RequestContext&, const ChunkInfo&) const override {
    static const auto kDescriptors = std::make_shared<const std::string>(
        *built_in_types("tensorboard.hparams", kHParams) + *built_in_types("tensorflow", kTypes));
    return kDescriptors;
  }
};

// Returns whether the text is the version of an event file.
bool is_version(std::string_view text) {
  return text.starts_with(kVersion) && text.size() > kVersion.size() &&
         std::ranges::all_of(text.substr(kVersion.size()), is_digit);
}

// Returns whether a time is one of this or the next centuries: the bits of another number hardly ever are.
bool is_time(Bytes content) {
  constexpr double kEarliest = 1;  // seconds since 1970-01-01T00:00:00Z
  constexpr double kLatest = 1e10;
  const auto time = std::bit_cast<double>(Cursor(content).u64_le());
  return kEarliest <= time && time <= kLatest;
}

// Returns whether a value of a summary has a tag, and something besides names and metadata.
bool is_tagged(Bytes value) {
  bool has_tag = false;
  bool has_value = false;
  for (protobuf::MessageReader reader(value, 0); reader.next();) {
    const std::uint32_t number = reader.field().number;
    has_tag = has_tag || (number == 1 && !reader.content().empty());
    has_value = has_value || (number >= 2 && number <= 8 && number != 7);
  }
  return has_tag && has_value;
}

bool has_tagged_value(Bytes summary) {
  bool has_value = false;
  for (protobuf::MessageReader reader(summary, 0); reader.next();) has_value = has_value || is_tagged(reader.content());
  return has_value;
}

}  // namespace

EventEvidence evidence_of_event(Bytes record) {
  static const MessageShapes kShapes(kTypes);
  if (!kShapes.fits("Event", record)) return EventEvidence::kNone;
  bool has_time = false;
  bool has_version = false;
  bool has_summary = false;
  for (protobuf::MessageReader reader(record, 0); reader.next();) {
    const Bytes content = reader.content();
    switch (reader.field().number) {
      case 1: has_time = is_time(content); break;
      case 3: has_version = is_version(as_text(content)); break;
      case 5: has_summary = has_tagged_value(content); break;
      default: break;
    }
  }
  if (has_version) return EventEvidence::kCertain;
  if (!has_time) return EventEvidence::kFields;
  return has_summary ? EventEvidence::kCertain : EventEvidence::kPossible;
}

bool may_begin_event(Bytes record) {
  constexpr std::byte kTagOfTime{0x09};
  return record.size() > sizeof(double) && record.front() == kTagOfTime && is_time(record.subspan(1, sizeof(double)));
}

std::unique_ptr<Container> with_event_type(std::unique_ptr<Container> file) {
  return std::make_unique<EventFile>(std::move(file));
}

}  // namespace recordfs::tfrecord
