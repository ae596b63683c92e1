/* Prints a record, or all of its fields as JSON: print_record PATH ORDINAL [json] */
#include <recordfs.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  recordfs_options options = RECORDFS_OPTIONS_INIT;
  recordfs_dataset* dataset = NULL;
  recordfs_bytes* record = NULL;
  recordfs_status status;

  if (count < 3) return 2;
  options.index = "no"; /* leaves nothing in the user's folder of caches */
  const char* path = arguments[1];
  const uint64_t ordinal = strtoull(arguments[2], NULL, 10);
  status = recordfs_open(&path, 1, &options, &dataset);
  if (status == RECORDFS_OK) {
    status = count == 3 ? recordfs_read(dataset, ordinal, &record) : recordfs_read_json(dataset, ordinal, &record);
  }
  if (status == RECORDFS_OK) {
    fwrite(record->data, 1, record->size, stdout);
  } else {
    fprintf(stderr, "%s: %s\n", recordfs_last_error()->path, recordfs_last_error()->message);
  }
  recordfs_bytes_free(record);
  recordfs_close(dataset);
  return status == RECORDFS_OK ? 0 : 1;
}
