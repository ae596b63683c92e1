#include "core/formats/wandb/record_types.h"

#include "core/formats/built_in_types.h"

namespace recordfs::wandb {
namespace {

// From the public field numbers of wandb's wandb_internal.proto, older and newer ones together. Messages that describe
// the machine and the client rather than the run remain bytes.
constexpr std::string_view kTypes = R"(
message _RecordInfo
  string stream_id 1
  string _tracelog_id 100
message Record
  int64 num 1
  HistoryRecord history 2 record_type
  SummaryRecord summary 3 record_type
  OutputRecord output 4 record_type
  ConfigRecord config 5 record_type
  FilesRecord files 6 record_type
  StatsRecord stats 7 record_type
  ArtifactRecord artifact 8 record_type
  TBRecord tbrecord 9 record_type
  AlertRecord alert 10 record_type
  bytes telemetry 11 record_type
  MetricRecord metric 12 record_type
  OutputRawRecord output_raw 13 record_type
  RunRecord run 17 record_type
  RunExitRecord exit 18 record_type
  FinalRecord final 20 record_type
  HeaderRecord header 21 record_type
  FooterRecord footer 22 record_type
  RunPreemptingRecord preempting 23 record_type
  bytes link_artifact 24 record_type
  UseArtifactRecord use_artifact 25 record_type
  bytes environment 26 record_type
  OutputLoggerRecord output_logger 27 record_type
  bytes request 100 record_type
  Control control 16
  string uuid 19
  _RecordInfo _info 200
message Control
  bool req_resp 1
  bool local 2
  string relay_id 3
  string mailbox_slot 4
  bool always_send 5
  bool flow_control 6
  int64 end_offset 7
  string connection_id 8
message FinalRecord
  _RecordInfo _info 200
message HeaderRecord
  VersionInfo version_info 1
  _RecordInfo _info 200
message VersionInfo
  string producer 1
  string min_consumer 2
  _RecordInfo _info 200
message FooterRecord
  _RecordInfo _info 200
message RunRecord
  string run_id 1
  string entity 2
  string project 3
  ConfigRecord config 4
  SummaryRecord summary 5
  string run_group 6
  string job_type 7
  string display_name 8
  string notes 9
  string* tags 10
  SettingsRecord settings 11
  string sweep_id 12
  string host 13
  int64 starting_step 14
  string storage_id 16
  google.protobuf.Timestamp start_time 17
  bool resumed 18
  bytes telemetry 19
  int32 runtime 20
  GitRepoRecord git 21
  bool forked 22
  BranchPoint branch_point 23
  _RecordInfo _info 200
message GitRepoRecord
  string remote_url 1
  string commit 2
message BranchPoint
  string run 1
  double value 2
  string metric 3
message RunExitRecord
  int32 exit_code 1
  int32 runtime 2
  bool not_complete 3
  _RecordInfo _info 200
message RunPreemptingRecord
  _RecordInfo _info 200
message SettingsRecord
  SettingsItem* item 1
  _RecordInfo _info 200
message SettingsItem
  string key 1
  string value_json 16
message HistoryRecord
  HistoryItem* item 1
  HistoryStep step 2
  _RecordInfo _info 200
message HistoryStep
  int64 num 1
message HistoryItem
  string key 1
  string* nested_key 2
  string value_json 16
message OutputRecord
  OutputRecord.OutputType output_type 1
  google.protobuf.Timestamp timestamp 2
  string line 3
  _RecordInfo _info 200
enum OutputRecord.OutputType
  STDERR 0
  STDOUT 1
message OutputRawRecord
  OutputRawRecord.OutputType output_type 1
  google.protobuf.Timestamp timestamp 2
  string line 3
  _RecordInfo _info 200
enum OutputRawRecord.OutputType
  STDERR 0
  STDOUT 1
message OutputLoggerRecord
  string line 1
message MetricRecord
  string name 1
  string glob_name 2
  string step_metric 4
  int32 step_metric_index 5
  MetricOptions options 6
  MetricSummary summary 7
  MetricRecord.MetricGoal goal 8
  MetricControl _control 9
  bool expanded_from_glob 10
  _RecordInfo _info 200
enum MetricRecord.MetricGoal
  GOAL_UNSET 0
  GOAL_MINIMIZE 1
  GOAL_MAXIMIZE 2
message MetricOptions
  bool step_sync 1
  bool hidden 2
  bool defined 3
message MetricControl
  bool overwrite 1
message MetricSummary
  bool min 1
  bool max 2
  bool mean 3
  bool best 4
  bool last 5
  bool none 6
  bool copy 7
  bool first 8
message ConfigRecord
  ConfigItem* update 1
  ConfigItem* remove 2
  _RecordInfo _info 200
message ConfigItem
  string key 1
  string* nested_key 2
  string value_json 16
message SummaryRecord
  SummaryItem* update 1
  SummaryItem* remove 2
  _RecordInfo _info 200
message SummaryItem
  string key 1
  string* nested_key 2
  string value_json 16
message FilesRecord
  FilesItem* files 1
  _RecordInfo _info 200
message FilesItem
  string path 1
  FilesItem.PolicyType policy 2
  FilesItem.FileType type 3
  string external_path 16
enum FilesItem.PolicyType
  NOW 0
  END 1
  LIVE 2
enum FilesItem.FileType
  OTHER 0
  WANDB 1
  MEDIA 2
  ARTIFACT 3
message StatsRecord
  StatsRecord.StatsType stats_type 1
  google.protobuf.Timestamp timestamp 2
  StatsItem* item 3
  _RecordInfo _info 200
enum StatsRecord.StatsType
  SYSTEM 0
message StatsItem
  string key 1
  string value_json 16
message ArtifactRecord
  string run_id 1
  string project 2
  string entity 3
  string type 4
  string name 5
  string digest 6
  string description 7
  string metadata 8
  bool user_created 9
  bool use_after_commit 10
  string* aliases 11
  bytes manifest 12
  string distributed_id 13
  bool finalize 14
  string client_id 15
  string sequence_client_id 16
  string base_id 17
  int64 ttl_duration_seconds 18
  string* tags 19
  bool incremental_beta1 100
  _RecordInfo _info 200
message TBRecord
  string log_dir 1
  bool save 2
  string root_dir 3
  string namespace 4
  string save_path 5
  bool ignore_timestamp 6
  bool ignore_hostname 7
  _RecordInfo _info 200
message AlertRecord
  string title 1
  string text 2
  string level 3
  int64 wait_duration 4
  _RecordInfo _info 200
message UseArtifactRecord
  string id 1
  string type 2
  string name 3
  bytes partial 4
  _RecordInfo _info 200
)";

// From the public field numbers of SwanLab's protos since version 0.8.0, which are in several packages there.
constexpr std::string_view kSwanLabTypes = R"(
message Record
  int64 num 1
  google.protobuf.Timestamp timestamp 2
  StartRecord start 10 record_type
  FinishRecord finish 11 record_type
  ColumnRecord column 12 record_type
  ScalarRecord scalar 13 record_type
  MediaRecord media 14 record_type
  LogRecord log 16 record_type
  SaveRecord save 20 record_type
message StartRecord
  string project 1
  string workspace 2
  bool public 3
  string name 4
  string description 5
  string* tags 6
  string group 7
  string job_type 8
  string color 9
  string id 10
  StartRecord.ResumeMode resume 11
  google.protobuf.Timestamp started_at 12
enum StartRecord.ResumeMode
  RESUME_MODE_NEVER 0
  RESUME_MODE_ALLOW 1
  RESUME_MODE_MUST 2
message FinishRecord
  FinishRecord.RunState state 1
  string error 2
  google.protobuf.Timestamp finished_at 3
enum FinishRecord.RunState
  RUN_STATE_RUNNING 0
  RUN_STATE_FINISHED 1
  RUN_STATE_CRASHED 2
  RUN_STATE_ABORTED 3
message ColumnRecord
  ColumnRecord.ColumnClass column_class 1
  ColumnType.Number column_type 2
  string column_key 3
  string column_name 4
  string section_name 5
  ColumnRecord.SectionType section_type 6
  YRange y_range 7
  string chart_index 8
  string chart_name 9
  ColumnRecord.ChartType chart_type 10
  string metric_name 11
  MetricColors metric_colors 12
enum ColumnRecord.ColumnClass
  COLUMN_CLASS_UNSPECIFIED 0
  COLUMN_CLASS_CUSTOM 1
  COLUMN_CLASS_SYSTEM 2
enum ColumnRecord.SectionType
  SECTION_TYPE_UNSPECIFIED 0
  SECTION_TYPE_PINNED 1
  SECTION_TYPE_HIDDEN 2
  SECTION_TYPE_PUBLIC 3
  SECTION_TYPE_SYSTEM 4
enum ColumnRecord.ChartType
  CHART_TYPE_UNSPECIFIED 0
  CHART_TYPE_LINE 1
  CHART_TYPE_BAR 2
  CHART_TYPE_SCALAR 3
  CHART_TYPE_IMAGE 4
  CHART_TYPE_AUDIO 5
  CHART_TYPE_TEXT 6
  CHART_TYPE_VIDEO 7
  CHART_TYPE_ECHARTS 8
  CHART_TYPE_OBJECT3D 9
  CHART_TYPE_MOLECULE 10
  CHART_TYPE_HTML 11
message ColumnType
enum ColumnType.Number
  COLUMN_TYPE_UNSPECIFIED 0
  COLUMN_TYPE_SCALAR 1
  COLUMN_TYPE_IMAGE 2
  COLUMN_TYPE_AUDIO 3
  COLUMN_TYPE_TEXT 4
  COLUMN_TYPE_VIDEO 5
  COLUMN_TYPE_ECHARTS 6
  COLUMN_TYPE_OBJECT3D 7
  COLUMN_TYPE_MOLECULE 8
  COLUMN_TYPE_HTML 9
message YRange
  double min 1 _min
  double max 2 _max
message MetricColors
  string light 1
  string dark 2
message ScalarRecord
  string key 1
  int64 step 2
  ColumnType.Number type 3
  google.protobuf.Timestamp timestamp 4
  ScalarValue value 5
message ScalarValue
  double number 1
message MediaRecord
  string key 1
  int64 step 2
  ColumnType.Number type 3
  google.protobuf.Timestamp timestamp 4
  MediaValue value 5
message MediaValue
  MediaItem* items 1
message MediaItem
  string filename 1
  string sha256 2
  int64 size 3
  string caption 4
message LogRecord
  string line 1
  LogRecord.LogLevel level 2
  google.protobuf.Timestamp timestamp 3
  int64 epoch 4
enum LogRecord.LogLevel
  LOG_LEVEL_INFO 0
  LOG_LEVEL_ERROR 1
message SaveRecord
  string name 1
  string source_path 2
  string target_path 3
  SaveRecord.SavePolicy policy 4
  SaveRecord.SaveType type 5
enum SaveRecord.SavePolicy
  SAVE_POLICY_NOW 0
  SAVE_POLICY_END 1
  SAVE_POLICY_LIVE 2
enum SaveRecord.SaveType
  SAVE_TYPE_CUSTOM 0
  SAVE_TYPE_CONFIG 1
  SAVE_TYPE_METADATA 2
  SAVE_TYPE_REQUIREMENTS 3
  SAVE_TYPE_CONDA 4
)";

}  // namespace

std::shared_ptr<const std::string> record_descriptors(std::string_view type) {
  static const auto kOfWandb = built_in_types("wandb_internal", kTypes);
  static const auto kOfSwanLab = built_in_types("swanlab.record.v1", kSwanLabTypes);
  if (type == kRecordType) return kOfWandb;
  return type == kSwanLabRecordType ? kOfSwanLab : nullptr;
}

}  // namespace recordfs::wandb
