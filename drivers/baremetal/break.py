#!/usr/bin/env python3
"""Changes one byte of an archive, where it lies in a program's image or in a file of its own.

break.py ARCHIVE frame|table IMAGE OUTPUT
"""
import sys

archive, where, image, output = sys.argv[1:]
with open(archive, "rb") as file:
    archive = file.read()
with open(image, "rb") as file:
    image = bytearray(file.read())
begin = image.find(archive)
if begin < 0 or image.find(archive, begin + 1) >= 0:
    sys.exit("the archive is not in the image, or more than once")
if where == "frame":
    # The last byte of the first frame: behind the header, the count and the length word.
    at = 72 + int.from_bytes(archive[68:72], "little") - 1
elif where == "table":
    # The sign of a feature in the name of an entry.
    at = archive.rindex(b"gfx90a:xnack-") + len(b"gfx90a:xnack-") - 1
else:
    sys.exit("frame or table")
image[begin + at] ^= 6
with open(output, "wb") as file:
    file.write(image)
