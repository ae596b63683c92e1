/* Sums the sizes of the records that can be read, and of the chunks of the first file: sum_sizes PATH... */
#include <inttypes.h>
#include <recordfs.h>
#include <stdio.h>

/* Prints why some records were left out. Returns whether there may be more. */
static int may_continue(void) {
  const recordfs_error* error = recordfs_last_error();
  fprintf(stderr, "%s: byte %" PRIu64 ": %s\n", error->path, error->position, error->message);
  return error->can_continue;
}

int main(int count, char** arguments) {
  recordfs_dataset* dataset;
  recordfs_records* records = NULL;
  recordfs_chunks* chunks = NULL;
  const recordfs_record* record;
  const recordfs_chunk* chunk;
  recordfs_status status;
  uint64_t sum = 0, number = 0, stored = 0, failures = 0;

  if (recordfs_open((const char* const*)arguments + 1, (size_t)count - 1, NULL, &dataset) != RECORDFS_OK) {
    return may_continue(), 2;
  }
  status = recordfs_records_open(dataset, 0, UINT64_MAX, NULL, &records);
  while (status != RECORDFS_END) {
    status = recordfs_records_next(records, &record);
    if (status == RECORDFS_OK) {
      sum += record->size;
      ++number;
    } else if (status != RECORDFS_END && (++failures, !may_continue())) {
      break;
    }
  }
  recordfs_records_close(records);
  status = recordfs_chunks_open(dataset, 0, &chunks);
  while (status != RECORDFS_END) {
    status = recordfs_chunks_next(chunks, &chunk);
    if (status == RECORDFS_OK) stored += chunk->stored_bytes;
    if (status != RECORDFS_OK && status != RECORDFS_END && (++failures, !may_continue())) break;
  }
  recordfs_chunks_close(chunks);
  recordfs_close(dataset);
  printf("%" PRIu64 " records, %" PRIu64 " bytes, stored in %" PRIu64 "\n", number, sum, stored);
  return failures == 0 ? 0 : 1;
}
