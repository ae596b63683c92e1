/* recordfs: reads the records of record containers, and the keys of LevelDB and RocksDB databases. See recordfs(3).

   Errors. A function that can fail returns a recordfs_status, and sets its results to NULL or 0 unless that is
   RECORDFS_OK. recordfs_last_error() then describes the failure. Bytes that fail a checksum are never returned. An
   argument that is NULL is RECORDFS_MISUSE, unless NULL is documented for it.

   Ownership. A function with a parameter `T **` makes an object that the caller passes to the function that frees it,
   which does nothing for NULL. A `const T **` is set to memory of another object, valid as documented. Objects may be
   freed in any order: an iterator keeps what it needs of its data set or database.

   Threads. Several threads may use a recordfs_dataset or a recordfs_database, until one closes it. An iterator is for
   one thread at a time. A forked child cannot use the objects of its parent: functions fail with
   RECORDFS_MISUSE, and those that free an object do nothing. It may open its own.

   Text is UTF-8, except paths, which are bytes as the system has them. Sizes and positions are bytes. Files and
   ordinals are counted from 0.

   Compatibility. Later versions with the same SONAME keep these functions, the values of enumerators and the members of
   structures, and may add some. Members are added at the end, so a program copies the members that it needs, and not
   structures that it was given. No function throws C++ exceptions, prints, or ends the process. */
#ifndef RECORDFS_H
#define RECORDFS_H

#include <stddef.h>
#include <stdint.h> /* NOLINTBEGIN(modernize-use-using): C has only typedef. */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RECORDFS_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RECORDFS_MUST_CHECK
#endif

/* Returns the version of the library: "0.1.0". Thread-safe. */
const char* recordfs_version(void);

/* ---- Errors ---- */

typedef enum recordfs_status {
  RECORDFS_OK = 0,
  RECORDFS_END = 1,       /* the iterator has returned everything */
  RECORDFS_MISUSE = 2,    /* an argument is wrong, or a condition names a field that no record has */
  RECORDFS_NOT_FOUND = 3, /* there is no such record, key, metadata, file of the data set, or column family */
  RECORDFS_DAMAGE = 4,    /* bytes contradict a checksum or themselves, a disk cannot read them, or a file is missing */
  RECORDFS_UNFINISHED = 5,   /* the file ends inside something: it is still being written, or truncated */
  RECORDFS_UNSUPPORTED = 6,  /* this build lacks a codec or a variant of the format, or a record has no decoded form */
  RECORDFS_LIMIT = 7,        /* larger than the limits: see recordfs_options.max_chunk */
  RECORDFS_NO_CONTAINER = 8, /* no format recognizes the file */
  RECORDFS_CHANGED = 9,      /* the file is no longer the one that was opened */
  RECORDFS_IO = 10,          /* a system call failed: see recordfs_error.os_error */
  RECORDFS_NO_MEMORY = 11
} recordfs_status;

typedef struct recordfs_error {
  recordfs_status status;
  int os_error;        /* the errno value of RECORDFS_IO, otherwise 0 */
  int can_continue;    /* 1: the iterator whose `next` has failed can go on after this; otherwise 0 */
  uint64_t position;   /* in the file; 0 if none applies */
  const char* path;    /* of the file; "" if the error is about none */
  const char* message; /* what is wrong, without the path and a full stop */
} recordfs_error;

/* Returns the last failure of a function on this thread. Never NULL; RECORDFS_OK if none has failed. RECORDFS_END is
   not a failure. Valid until the next failure on this thread. */
const recordfs_error* recordfs_last_error(void);

/* ---- Bytes ---- */

/* Bytes that the caller owns. They may be part of a larger object, which stays in memory as long: copy bytes that are
   kept for long. Text ends with a 0 byte that `size` does not count; other bytes do not. */
typedef struct recordfs_bytes {
  const void* data; /* never NULL */
  size_t size;
} recordfs_bytes;

void recordfs_bytes_free(recordfs_bytes* bytes);

/* ---- Data sets ---- */

/* One container, or several that are read as one. */
typedef struct recordfs_dataset recordfs_dataset;

/* How a data set or a database is opened. 0 and NULL stand for the defaults. */
typedef struct recordfs_options {
  size_t struct_size;      /* sizeof(recordfs_options): what a later version appends has its default then */
  const char* index;       /* where indexes of large files are saved: "auto" (default), "no", or a directory; not "" */
  uint64_t cache_bytes;    /* of decoded chunks that are kept for recordfs_read(); default: 64 MiB */
  uint64_t max_chunk;      /* the largest chunk that is read, in bytes; default: 256 MiB stored, 1 GiB decoded */
  unsigned threads;        /* that decode, at most 1024; default: one for each processor */
  const char* descriptors; /* a file of protobuf types, written by `protoc --descriptor_set_out`; default: none */
  const char* type;        /* the full name of the type of all records; default: the one that the file describes */
} recordfs_options;

#define RECORDFS_OPTIONS_INIT \
  { sizeof(recordfs_options), 0, 0, 0, 0, 0, 0 }

/* Opens `count` paths as one data set. Each is a file, a URL (https, s3, gs, hf), or what names a set of files: a
   directory, a pattern such as "train-*", or "train@128.tfrecord". A single file is opened now; the files of a set are
   opened when they are needed. Files that are surplus in a numbered set are left out. `options` may be NULL. The first
   URL starts the program recordfs-fetch. Fails with RECORDFS_IO if there is no such file, with RECORDFS_NO_CONTAINER,
   RECORDFS_MISUSE, RECORDFS_LIMIT, with RECORDFS_UNSUPPORTED for the directory of a database, which
   recordfs_database_open() opens, and as recordfs_read() for damage that hides the format. If `descriptors` is what
   fails, recordfs_error has its path: RECORDFS_IO if it cannot be read, RECORDFS_DAMAGE or RECORDFS_LIMIT if it has no
   valid types, and RECORDFS_NOT_FOUND if `type` is not in it. Thread-safe. */
RECORDFS_MUST_CHECK recordfs_status recordfs_open(const char* const* paths, size_t count,
                                                  const recordfs_options* options, recordfs_dataset** dataset);

/* Frees a data set. No other thread may use it. Its threads end with its last iterator. */
void recordfs_close(recordfs_dataset* dataset);

/* Returns the number of files, including those that are missing from a numbered set. Thread-safe. */
size_t recordfs_file_count(const recordfs_dataset* dataset);

/* Returns the path or URL of a file, without the secrets of a URL; NULL if there is no such file. Valid as long as the
   data set. Thread-safe. */
const char* recordfs_file_path(const recordfs_dataset* dataset, size_t file);

/* Returns the name of a file's format, such as "riegeli". It is valid as long as the data set. Fails as recordfs_open()
   does for this file. Thread-safe. */
RECORDFS_MUST_CHECK recordfs_status recordfs_file_format(const recordfs_dataset* dataset, size_t file,
                                                         const char** format);

/* Returns what the headers of a file tell, as JSON: format, version, size, codec, names and sizes of metadata. It is
   the line that `recordfs info --json` prints, without "file" and without a newline. Never scans the file. Fails as
   recordfs_file_format().
   Thread-safe. */
RECORDFS_MUST_CHECK recordfs_status recordfs_file_info(const recordfs_dataset* dataset, size_t file,
                                                       recordfs_bytes** json);

/* Returns a value of a file's metadata. Fails with RECORDFS_NOT_FOUND if there is none, and as recordfs_file_format().
   Thread-safe. */
RECORDFS_MUST_CHECK recordfs_status recordfs_file_metadata(const recordfs_dataset* dataset, size_t file,
                                                           const char* key, recordfs_bytes** value);

/* Counts the records that can be found. May scan the headers of all files, and uses saved indexes. Does not fail for
   records that are lost to damage, nor for files that are missing or not readable, of which it counts none: see
   recordfs_damage_open(). Fails with RECORDFS_IO, RECORDFS_CHANGED and RECORDFS_NO_MEMORY. Thread-safe. */
RECORDFS_MUST_CHECK recordfs_status recordfs_count(const recordfs_dataset* dataset, uint64_t* records);

/* Returns the record with an ordinal among those that recordfs_count() counts. May scan the headers up to it.
   Fails with RECORDFS_NOT_FOUND if there are too few records, with RECORDFS_DAMAGE, RECORDFS_UNFINISHED,
   RECORDFS_UNSUPPORTED or RECORDFS_LIMIT if the record cannot be read whole and verified, and as recordfs_count().
   Thread-safe. */
RECORDFS_MUST_CHECK recordfs_status recordfs_read(const recordfs_dataset* dataset, uint64_t ordinal,
                                                  recordfs_bytes** record);

/* Returns a record as the line of JSON that `recordfs cat --json` prints, without a newline: ordinal, size, text or
   base64, and the decoded content. Fails as recordfs_read(). Thread-safe. */
RECORDFS_MUST_CHECK recordfs_status recordfs_read_json(const recordfs_dataset* dataset, uint64_t ordinal,
                                                       recordfs_bytes** json);

/* ---- Records in order ---- */

/* Iterates over records, which other threads decode ahead. */
typedef struct recordfs_records recordfs_records;

typedef struct recordfs_record {
  const void* data; /* never NULL, not terminated */
  size_t size;
  uint64_t ordinal; /* in the data set */
  size_t file;
} recordfs_record;

/* Iterates over the records with ordinals from `begin` up to, but not including, `end`. UINT64_MAX: to the end.
   `where`: a condition on the fields of the decoded records, as for `recordfs cat --where`, such as
   "image/width > 500"; NULL: all records. Reads nothing yet. Fails with RECORDFS_MISUSE if the condition is wrong. */
RECORDFS_MUST_CHECK recordfs_status recordfs_records_open(const recordfs_dataset* dataset, uint64_t begin, uint64_t end,
                                                          const char* where, recordfs_records** records);

/* Returns the next record, valid until the next call. Returns RECORDFS_END after the last one.
   Fails where records cannot be read, or may be lost: as recordfs_read(), with the place in recordfs_error. If
   `can_continue` is 1, the next call continues with the first record after it; if it is 0, all calls fail in the same
   way. At the end, a condition that does not fit the records fails: with RECORDFS_MISUSE if no record has a field, or
   no value of it the type that it is compared with; with RECORDFS_UNSUPPORTED if records could not be decoded, so that
   the condition did not apply to them. */
RECORDFS_MUST_CHECK recordfs_status recordfs_records_next(recordfs_records* records, const recordfs_record** record);

void recordfs_records_close(recordfs_records* records);

/* ---- Chunks ---- */

/* A number that is not known. */
#define RECORDFS_UNKNOWN UINT64_MAX

/* Iterates over the chunks of a file: the smallest units that are decoded as a whole. */
typedef struct recordfs_chunks recordfs_chunks;

typedef struct recordfs_chunk {
  uint64_t begin;         /* the chunk is the file's bytes from here */
  uint64_t end;           /* up to here */
  uint64_t first_ordinal; /* in the file, of its first record */
  uint64_t records;
  uint64_t stored_bytes;  /* of the payload as it is stored */
  uint64_t decoded_bytes; /* of all records; RECORDFS_UNKNOWN if only decoding tells it */
  const char* kind;       /* as the format names it: "simple", "transposed", ... */
  const char* codec;      /* "none", "zstd", ...; "-" if it is not known */
} recordfs_chunk;

/* Iterates over the chunks of a file in its order, by a scan of the headers. Fails as recordfs_file_format(). */
RECORDFS_MUST_CHECK recordfs_status recordfs_chunks_open(const recordfs_dataset* dataset, size_t file,
                                                         recordfs_chunks** chunks);

/* Returns the next chunk, valid until the next call. Returns RECORDFS_END after the last one. Fails where the scan
   finds damage, with `can_continue` 1, and with RECORDFS_IO, RECORDFS_CHANGED and RECORDFS_NO_MEMORY; then the next
   call tries again. */
RECORDFS_MUST_CHECK recordfs_status recordfs_chunks_next(recordfs_chunks* chunks, const recordfs_chunk** chunk);

void recordfs_chunks_close(recordfs_chunks* chunks);

/* ---- Damage ---- */

/* Iterates over the damaged regions of a file. */
typedef struct recordfs_damage recordfs_damage;

typedef struct recordfs_region {
  uint64_t begin;         /* the region is the file's bytes from here */
  uint64_t end;           /* up to here; RECORDFS_UNKNOWN if only the begin is known, as of a record */
  uint64_t first_ordinal; /* in the file, of the first record after it; of recordfs_verify(), RECORDFS_UNKNOWN */
  uint64_t records_lost;  /* RECORDFS_UNKNOWN: at least `least_records_lost` */
  uint64_t least_records_lost;
  const char* kind; /* "damage", "unfinished", "stale" or "unsupported"; recordfs_verify() documents others */
  const char* reason;
} recordfs_region;

/* Finds the regions that a scan of the headers finds, as recordfs_count() does; uses the saved index of the file. What
   only the content of records shows is not among them. Fails as recordfs_file_format(), so with RECORDFS_DAMAGE if the
   file is missing, and as recordfs_count(). */
RECORDFS_MUST_CHECK recordfs_status recordfs_damage_open(const recordfs_dataset* dataset, size_t file,
                                                         recordfs_damage** damage);

/* Finds all of them: reads every chunk, record and metadata of a file, as `recordfs verify` does. The kind of a region
   may also be "unreadable", if it could not be read this time, and "unchecked", if memory was short or records have no
   checksum. Fails as recordfs_file_format(). */
RECORDFS_MUST_CHECK recordfs_status recordfs_verify(const recordfs_dataset* dataset, size_t file,
                                                    recordfs_damage** damage);

/* Returns the next region, valid until the next call. Returns RECORDFS_END after the last one. */
RECORDFS_MUST_CHECK recordfs_status recordfs_damage_next(recordfs_damage* damage, const recordfs_region** region);

void recordfs_damage_close(recordfs_damage* damage);

/* ---- Databases ---- */

/* The live state of a database at the time when it was opened. */
typedef struct recordfs_database recordfs_database;

/* Opens the directory of a LevelDB or RocksDB database, or one of its logs or tables, for reading. Takes no lock. Of
   `options`, which may be NULL, uses only max_chunk. Fails with RECORDFS_IO, RECORDFS_NO_CONTAINER, RECORDFS_LIMIT,
   RECORDFS_CHANGED if the database replaces its files too fast, and RECORDFS_NO_MEMORY. Thread-safe. */
RECORDFS_MUST_CHECK recordfs_status recordfs_database_open(const char* path, const recordfs_options* options,
                                                           recordfs_database** database);

/* Frees a database. No other thread may use it. */
void recordfs_database_close(recordfs_database* database);

/* Returns the value of a key in a column family, by its name, or by its number if none has that name; NULL: the default
   one. `key` may be NULL if it is empty. Fails with RECORDFS_NOT_FOUND if the key has no value; with RECORDFS_DAMAGE if
   the value is damaged, or a newer one may be lost; with RECORDFS_UNSUPPORTED if it needs a merge operator of the
   database's program, or if it is a wide-column entity with other columns than the default one; and as
   recordfs_database_open(). Thread-safe. */
RECORDFS_MUST_CHECK recordfs_status recordfs_database_get(const recordfs_database* database, const char* family,
                                                          const void* key, size_t key_size, recordfs_bytes** value);

/* Iterates over keys and their values. */
typedef struct recordfs_keys recordfs_keys;

typedef struct recordfs_entry {
  const void* key; /* never NULL, not terminated, and so is the value */
  size_t key_size;
  const void* value; /* NULL if it cannot be read */
  size_t value_size;
  int may_be_stale; /* 1: a newer value may be lost to damage; otherwise 0 */
} recordfs_entry;

/* Iterates over the keys of a column family, in the order of its comparator. `family`: as of recordfs_database_get().
   `prefix_size`: 0 for all keys, also if `prefix` is NULL; otherwise only those that begin with `prefix`. Fails with
   RECORDFS_NOT_FOUND if there is no such column family. */
RECORDFS_MUST_CHECK recordfs_status recordfs_keys_open(const recordfs_database* database, const char* family,
                                                       const void* prefix, size_t prefix_size, recordfs_keys** keys);

/* Returns the next key that has a value, valid until the next call. Returns RECORDFS_END after the last one.
   Fails if the value cannot be read, as recordfs_database_get(): then `can_continue` is 1, and `entry` has the key.
   Fails with RECORDFS_DAMAGE after the last key if keys or newer values may be lost, once for each file that was not
   readable as a whole; then, too, `can_continue` is 1. Fails with RECORDFS_IO, RECORDFS_NO_MEMORY and RECORDFS_LIMIT;
   the next call tries again. Fails with RECORDFS_CHANGED if the database has removed files that are needed. */
RECORDFS_MUST_CHECK recordfs_status recordfs_keys_next(recordfs_keys* keys, const recordfs_entry** entry);

void recordfs_keys_close(recordfs_keys* keys);

#ifdef __cplusplus
}
#endif
#endif /* RECORDFS_H */ /* NOLINTEND(modernize-use-using) */
