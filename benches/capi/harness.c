/*
 * The C library beside a loop in C that does only what cannot be left out: malloc and libzstd, over frames that lie in
 * memory and whose places are known.
 *
 *   harness ROUNDS ARCHIVE...
 *
 * The archives are of the scheme zstd-per-kernel. Both candidates decode the same kernels in the same random order; in
 * each round they take turns, and the medians of the rounds' ratios are told, a line each: figure, ours, peer, its figure,
 * ratio, target, and 1 or 0 for met, with tabs between. That both give the same bytes is checked before.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rocm_kpack/kpack.h>
#include <zstd.h>

#define THREADS 2
#define FIGURES 8
/* Calls of one turn where single calls are too short to be timed. */
#define BATCH 256
/* The peer. */
#define LOOP "C loop over libzstd " ZSTD_VERSION_STRING

static void die(const char* what) {
  fprintf(stderr, "harness: %s\n", what);
  exit(1);
}

static void need(int ok, const char* what) {
  if (!ok) die(what);
}

typedef struct {
  const char* binary;
  const char* arch;
  const unsigned char* frame;
  size_t frame_size;
  size_t size;
  uint64_t hash;
} kernel_t;

static kpack_archive_t archive;
static kernel_t* kernels;
static size_t kernel_count;
static size_t raw_bytes;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, size_t count) {
  qsort(values, count, sizeof *values, by_value);
  return values[count / 2];
}

static uint64_t hash_of(const void* data, size_t size) {
  const unsigned char* bytes = data;
  uint64_t hash = 0xcbf29ce484222325u;
  size_t at;
  for (at = 0; at + 8 <= size; at += 8) {
    uint64_t word;
    memcpy(&word, bytes + at, 8);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  for (; at < size; at++) hash = (hash ^ bytes[at]) * 0x100000001b3u;
  return hash;
}

static int by_content(const void* a, const void* b) {
  const kernel_t *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? -1 : 1;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

static uint32_t word_at(const unsigned char* at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Every name that the archive has a kernel for, with a frame that decodes to the same bytes. */
static void prepare(const unsigned char* file) {
  const unsigned char* at = file + 64;
  uint32_t count = word_at(at), frame;
  size_t arches, binaries, a, b, found = 0;
  kernel_t* frames = calloc(count, sizeof *frames);
  ZSTD_DCtx* context = ZSTD_createDCtx();
  need(frames != NULL && context != NULL, "no memory");
  at += 4;
  for (frame = 0; frame < count; frame++) {
    kernel_t* one = &frames[frame];
    unsigned long long size;
    void* data;
    one->frame_size = word_at(at);
    one->frame = at + 4;
    at += 4 + one->frame_size;
    size = ZSTD_getFrameContentSize(one->frame, one->frame_size);
    need(size < 1ull << 31, "a frame without a content size");
    one->size = (size_t)size;
    data = malloc(one->size);
    need(ZSTD_decompressDCtx(context, data, one->size, one->frame, one->frame_size) == one->size, "a broken frame");
    one->hash = hash_of(data, one->size);
    free(data);
  }
  qsort(frames, count, sizeof *frames, by_content);
  need(kpack_get_architecture_count(archive, &arches) == KPACK_SUCCESS, "architectures");
  need(kpack_get_binary_count(archive, &binaries) == KPACK_SUCCESS, "binaries");
  kernels = calloc(arches * binaries, sizeof *kernels);
  need(kernels != NULL, "no memory");
  for (b = 0; b < binaries; b++) {
    for (a = 0; a < arches; a++) {
      kernel_t one;
      const kernel_t* same;
      void* data;
      memset(&one, 0, sizeof one);
      kpack_get_architecture(archive, a, &one.arch);
      kpack_get_binary(archive, b, &one.binary);
      if (kpack_get_kernel(archive, one.binary, one.arch, &data, &one.size) != KPACK_SUCCESS) continue;
      one.hash = hash_of(data, one.size);
      kpack_free_kernel(data);
      same = bsearch(&one, frames, count, sizeof *frames, by_content);
      need(same != NULL, "a kernel that no frame holds");
      one.frame = same->frame;
      one.frame_size = same->frame_size;
      raw_bytes += one.size;
      kernels[found++] = one;
    }
  }
  need(found > 0, "no kernels");
  kernel_count = found;
  /* A random order, in which the questions also stand in memory. */
  for (a = found - 1; a > 0; a--) {
    size_t other = (size_t)(next_random() % (a + 1));
    kernel_t swap = kernels[a];
    kernels[a] = kernels[other];
    kernels[other] = swap;
  }
  for (a = 0; a < found; a++) {
    kernels[a].binary = strdup(kernels[a].binary);
    kernels[a].arch = strdup(kernels[a].arch);
  }
  free(frames);
  ZSTD_freeDCtx(context);
}

/* A part of the kernels, for a thread. */
typedef struct {
  size_t from, to;
  /* 1: the library; 0: libzstd with a context that is kept; -1: libzstd with a context for each call. */
  int ours;
  ZSTD_DCtx* context;
} part_t;

static void* work(void* argument) {
  part_t* part = argument;
  size_t at;
  for (at = part->from; at < part->to; at++) {
    const kernel_t* one = &kernels[at];
    void* data;
    if (part->ours) {
      size_t size;
      need(kpack_get_kernel(archive, one->binary, one->arch, &data, &size) == KPACK_SUCCESS, "a kernel is gone");
      need(size == one->size, "a kernel of another size");
      kpack_free_kernel(data);
    } else if (part->ours < 0) {
      data = malloc(one->size);
      need(data != NULL, "no memory");
      need(ZSTD_decompress(data, one->size, one->frame, one->frame_size) == one->size, "zstd");
      free(data);
    } else {
      data = malloc(one->size);
      need(data != NULL, "no memory");
      need(ZSTD_decompressDCtx(part->context, data, one->size, one->frame, one->frame_size) == one->size, "zstd");
      free(data);
    }
  }
  return NULL;
}

static ZSTD_DCtx* contexts[THREADS];

/* How long one or two threads take for all kernels, in seconds. */
static double turn(int ours, int threads) {
  pthread_t started[THREADS];
  part_t parts[THREADS];
  double begin;
  int at;
  for (at = 0; at < threads; at++) {
    parts[at].from = kernel_count * (size_t)at / (size_t)threads;
    parts[at].to = kernel_count * (size_t)(at + 1) / (size_t)threads;
    parts[at].ours = ours;
    parts[at].context = contexts[at];
  }
  begin = now();
  for (at = 1; at < threads; at++) need(pthread_create(&started[at], NULL, work, &parts[at]) == 0, "no thread");
  work(&parts[0]);
  for (at = 1; at < threads; at++) pthread_join(started[at], NULL);
  return now() - begin;
}

static void fetching(const char* name, size_t rounds) {
  double* values[FIGURES];
  size_t round, at;
  for (at = 0; at < FIGURES; at++) values[at] = calloc(rounds, sizeof **values);
  for (at = 0; at < THREADS; at++) contexts[at] = ZSTD_createDCtx();
  turn(1, 1);
  turn(0, 1);
  for (round = 0; round < rounds; round++) {
    /* The other one begins every other time. */
    int first = (int)(round % 2);
    double one[2], two[2];
    one[first] = turn(first, 1);
    one[!first] = turn(!first, 1);
    two[first] = turn(first, 2);
    two[!first] = turn(!first, 2);
    values[0][round] = one[0] / one[1];
    values[1][round] = (double)raw_bytes / one[1] / 1e6;
    values[2][round] = (double)raw_bytes / one[0] / 1e6;
    values[3][round] = one[1] / two[1];
    values[4][round] = one[0] / two[0];
    values[5][round] = (one[1] / two[1]) / (one[0] / two[0]);
    values[6][round] = two[0] / two[1];
    values[7][round] = turn(-1, 1) / one[1];
  }
  for (at = 0; at < FIGURES; at++) median(values[at], rounds);
#define MIDDLE(at) values[at][rounds / 2]
  printf("%s: `kpack_get_kernel`, one thread\t%.0f MB/s\t%s, its context kept\t%.0f MB/s\t%.3f\t>= 0.88\t%d\n", name, MIDDLE(1),
         LOOP, MIDDLE(2), MIDDLE(0), MIDDLE(0) >= 0.88);
  printf("%s: `kpack_get_kernel`, one thread\t%.0f MB/s\t%s, a context for each call\t%.0f MB/s\t%.3f\t>= 0.88\t%d\n", name,
         MIDDLE(1), LOOP, MIDDLE(1) / MIDDLE(7), MIDDLE(7), MIDDLE(7) >= 0.88);
  printf("%s: two threads on one handle gain\tx %.3f\t%s, its contexts kept\tx %.3f\t%.3f\t>= 0.95\t%d\n", name, MIDDLE(3), LOOP,
         MIDDLE(4), MIDDLE(5), MIDDLE(5) >= 0.95);
  printf("%s: two threads\t%.0f MB/s\t%s, its contexts kept\t%.0f MB/s\t%.3f\t\t\n", name, MIDDLE(1) * MIDDLE(3), LOOP,
         MIDDLE(2) * MIDDLE(4), MIDDLE(6));
  for (at = 0; at < FIGURES; at++) free(values[at]);
  for (at = 0; at < THREADS; at++) ZSTD_freeDCtx(contexts[at]);
}

/* Bytes that this process has read so far, by the system's count. */
static unsigned long long bytes_read(void) {
  unsigned long long bytes = 0;
  FILE* file = fopen("/proc/self/io", "r");
  need(file != NULL && fscanf(file, "rchar: %llu", &bytes) == 1, "/proc/self/io");
  fclose(file);
  return bytes;
}

static void opening(const char* name, const char* path, size_t table, size_t rounds) {
  double* values = calloc(rounds, sizeof *values);
  unsigned long long between, begin, opened;
  size_t round, counts = 0;
  const char* first = "";
  kpack_archive_t one;
  double listed = 0;
  for (round = 0; round < rounds; round++) {
    double start = now();
    need(kpack_open(path, &one) == KPACK_SUCCESS, "an archive that cannot be opened");
    values[round] = now() - start;
    start = now();
    need(kpack_get_binary_count(one, &counts) == KPACK_SUCCESS, "binaries");
    need(kpack_get_binary(one, 0, &first) == KPACK_SUCCESS, "a binary");
    listed = now() - start;
    kpack_close(one);
  }
  begin = bytes_read();
  between = bytes_read();
  need(kpack_open(path, &one) == KPACK_SUCCESS, "an archive that cannot be opened");
  opened = bytes_read();
  kpack_close(one);
  /* Less what reading the count itself has read. */
  opened = opened - between - (between - begin);
  median(values, rounds);
  printf("%s: `kpack_open`, warm\t%.2f ms\t\t\t\t<= 3 ms\t%d\n", name, values[rounds / 2] * 1e3, values[rounds / 2] <= 3e-3);
  printf("%s: bytes read by `kpack_open`\t%llu\t\t\t\theader and table: %zu\t%d\n", name, opened, table + 16, opened == table + 16);
  printf("%s: the list of %zu binaries, when it is first asked for\t%.2f ms\t\t\t\t\t\n", name, counts, listed * 1e3);
  free(values);
}

/* A MessagePack string. */
static size_t put_str(unsigned char* to, const char* text, size_t length) {
  to[0] = 0xda;
  to[1] = (unsigned char)(length >> 8);
  to[2] = (unsigned char)length;
  memcpy(to + 3, text, length);
  return length + 3;
}

static void loading(const char* name, const char* path, size_t rounds) {
  unsigned char reference[65536];
  double *added = calloc(rounds, sizeof *added), *loads = calloc(rounds, sizeof *loads);
  const kernel_t* one = &kernels[0];
  const char* number;
  const char* arches[1];
  char isa[128];
  size_t length = 0, round, at;
  uint32_t index;
  kpack_cache_t cache;
  for (at = 0; at < kernel_count; at++) {
    if (kernels[at].size < one->size) one = &kernels[at];
  }
  /* What a call adds is lost in the noise of a large kernel. */
  if (one->size > 65536) {
    free(added);
    free(loads);
    return;
  }
  number = strrchr(one->binary, '#');
  need(number != NULL, "a binary without a number");
  index = (uint32_t)strtoul(number + 1, NULL, 10);
  reference[length++] = 0x82;
  length += put_str(reference + length, "kpack_search_paths", 18);
  reference[length++] = 0x91;
  length += put_str(reference + length, path, strlen(path));
  length += put_str(reference + length, "kernel_name", 11);
  length += put_str(reference + length, one->binary, (size_t)(number - one->binary));
  snprintf(isa, sizeof isa, "amdgcn-amd-amdhsa--%s", one->arch);
  arches[0] = isa;
  need(kpack_cache_create(&cache) == KPACK_SUCCESS, "no cache");
  for (round = 0; round < rounds; round++) {
    double begin = now(), between, end;
    void* data;
    size_t size;
    for (at = 0; at < BATCH; at++) {
      need(kpack_load_code_object(cache, reference, "/usr/lib/libx.so", index, arches, 1, &data, &size) == KPACK_SUCCESS,
           "a code object that cannot be loaded");
      kpack_free_code_object(data);
    }
    between = now();
    for (at = 0; at < BATCH; at++) {
      need(kpack_get_kernel(archive, one->binary, one->arch, &data, &size) == KPACK_SUCCESS, "a kernel is gone");
      kpack_free_kernel(data);
    }
    end = now();
    loads[round] = (between - begin) / BATCH * 1e6;
    added[round] = ((between - begin) - (end - between)) / BATCH * 1e6;
  }
  kpack_cache_destroy(cache);
  median(loads, rounds);
  median(added, rounds);
  printf("%s: `kpack_load_code_object` of %zu bytes, cached\t%.2f us\t\t\t\t\t\n", name, one->size, loads[rounds / 2]);
  printf("%s: what it adds to `kpack_get_kernel`\t%.2f us\t\t\t\t<= 5 us\t%d\n", name, added[rounds / 2], added[rounds / 2] <= 5);
  free(added);
  free(loads);
}

static void measure(const char* path, size_t rounds) {
  struct stat info;
  unsigned char* file;
  uint64_t table;
  const char* name = strrchr(path, '/');
  int handle = open(path, O_RDONLY);
  name = name == NULL ? path : name + 1;
  if (strcmp(name, "kernels-20000.kpack") == 0) name = "20,000 kernels of 5 KB";
  if (strcmp(name, "b_2000_zstd.kpack") == 0) name = "2,000 real code objects";
  if (strcmp(name, "e_rocrand_zstd.kpack") == 0) name = "7 real code objects";
  need(handle >= 0 && fstat(handle, &info) == 0, path);
  /* Read, not mapped: the peer's frames lie in memory of its own. */
  file = malloc((size_t)info.st_size);
  need(file != NULL, "no memory");
  for (off_t at = 0; at < info.st_size;) {
    ssize_t got = pread(handle, file + at, (size_t)(info.st_size - at), at);
    need(got > 0, "reading the archive");
    at += got;
  }
  close(handle);
  memcpy(&table, file + 8, sizeof table);
  opening(name, path, (size_t)info.st_size - (size_t)table, rounds * 4);
  need(kpack_open(path, &archive) == KPACK_SUCCESS, "an archive that cannot be opened");
  raw_bytes = 0;
  prepare(file);
  fprintf(stderr, "%s: %zu kernels, %zu MB\n", name, kernel_count, raw_bytes / 1000000);
  fetching(name, rounds);
  loading(name, path, rounds * 4);
  kpack_close(archive);
  free(file);
}

int main(int argc, char** argv) {
  size_t rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
  int at;
  need(rounds > 0, "usage: harness ROUNDS ARCHIVE...");
  for (at = 2; at < argc; at++) measure(argv[at], rounds);
  return 0;
}
