/* Reads each file of a data set, and prints its format and where it is damaged: list_damage PATH... */
#include <inttypes.h>
#include <recordfs.h>
#include <stdio.h>

static void print_error(void) {
  const recordfs_error* error = recordfs_last_error();
  fprintf(stderr, "%s: %s\n", error->path, error->message);
}

/* Returns 1 if the file is damaged, and 2 if it cannot be read. */
static int list(const recordfs_dataset* dataset, size_t file) {
  const char* format;
  recordfs_damage* damage;
  const recordfs_region* region;
  recordfs_status status;
  int found = 0;

  if (recordfs_file_format(dataset, file, &format) != RECORDFS_OK) return print_error(), 2;
  if (recordfs_verify(dataset, file, &damage) != RECORDFS_OK) return print_error(), 2;
  printf("%s: %s\n", recordfs_file_path(dataset, file), format);
  while ((status = recordfs_damage_next(damage, &region)) == RECORDFS_OK) {
    found = 1;
    printf("  byte %" PRIu64, region->begin);
    if (region->end != RECORDFS_UNKNOWN) printf(" to %" PRIu64, region->end);
    printf(": %s: %s", region->kind, region->reason);
    if (region->records_lost != RECORDFS_UNKNOWN) printf("; %" PRIu64 " records lost", region->records_lost);
    printf("\n");
  }
  if (status != RECORDFS_END) found = (print_error(), 2);
  recordfs_damage_close(damage);
  return found;
}

int main(int count, char** arguments) {
  recordfs_dataset* dataset;
  int worst = 0;

  if (recordfs_open((const char* const*)arguments + 1, (size_t)count - 1, NULL, &dataset) != RECORDFS_OK) {
    print_error();
    return 2;
  }
  for (size_t file = 0; file < recordfs_file_count(dataset); ++file) {
    const int found = list(dataset, file);
    if (found > worst) worst = found;
  }
  recordfs_close(dataset);
  return worst;
}
