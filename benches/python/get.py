"""Times a reader of Python's msgpack and zstandard: get.py ARCHIVE BINARY ARCH ROUNDS.

Prints two medians of a round in microseconds: the first fetch of the kernel from an archive that
was just opened, and a later one. A frame is found by its place in the table, where there is one,
else by a walk over the length words of the blob, which is read at once; what was found is kept.
Exits with 9 where a module is missing.
"""

import os
import struct
import sys
import time

try:
    import msgpack
    import zstandard
except ImportError:
    sys.exit(9)

WORD = struct.Struct("<I")
LATER = 200


class Archive:
    def __init__(self, path):
        self.file = os.open(path, os.O_RDONLY)
        magic, version, offset = struct.unpack("<4sIQ", os.pread(self.file, 16, 0))
        if magic != b"KPAK" or version != 1:
            raise ValueError("not an archive")
        size = os.fstat(self.file).st_size
        self.table = msgpack.unpackb(os.pread(self.file, size - offset, offset))
        self.frames = None
        self.decoder = zstandard.ZstdDecompressor()

    def walk(self):
        start, size = self.table["zstd_offset"], self.table["zstd_size"]
        blob = os.pread(self.file, size, start)
        (count,) = WORD.unpack_from(blob, 0)
        at, frames = 4, []
        for _ in range(count):
            (length,) = WORD.unpack_from(blob, at)
            frames.append((start + at + 4, length))
            at += 4 + length
        return frames

    def place(self, entry):
        if "frame_offset" in entry:
            offset, size = entry["frame_offset"], entry["frame_size"]
            if WORD.unpack(os.pread(self.file, 4, offset - 4)) != (size,):
                raise ValueError("the length word differs")
            return offset, size
        if self.frames is None:
            self.frames = self.walk()
        return self.frames[entry["ordinal"]]

    def get(self, binary, arch):
        entry = self.table["toc"][binary][arch]
        offset, size = self.place(entry)
        frame = os.pread(self.file, size, offset)
        return self.decoder.decompress(frame, max_output_size=entry["original_size"])

    def close(self):
        os.close(self.file)


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    path, binary, arch, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    firsts, laters = [], []
    for _ in range(rounds):
        archive = Archive(path)
        firsts.append(timed(lambda: archive.get(binary, arch)))
        later = timed(lambda: [archive.get(binary, arch) for _ in range(LATER)])
        laters.append(later / LATER)
        archive.close()
    for times in (firsts, laters):
        times.sort()
        print(times[len(times) // 2] * 1e6)


main()
