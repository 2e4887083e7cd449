"""Small PNG files of screenshots: at most 256 colours, chosen in the browser, which has the pixels."""

from __future__ import annotations

import base64
import struct
import zlib

from playwright.sync_api import Page

# Colours are counted, the most frequent kept, and each other one replaced by the nearest of these.
_QUANTISE = """async (png) => {
  const blob = await (await fetch("data:image/png;base64," + png)).blob();
  const bitmap = await createImageBitmap(blob);
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const data = context.getImageData(0, 0, bitmap.width, bitmap.height).data;
  const count = new Map();
  for (let i = 0; i < data.length; i += 4) {
    const colour = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
    count.set(colour, (count.get(colour) || 0) + 1);
  }
  const palette = [...count.entries()].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([colour]) => colour);
  const index = new Map(palette.map((colour, number) => [colour, number]));
  const nearest = (colour) => {
    const [r, g, b] = [colour >> 16, (colour >> 8) & 255, colour & 255];
    let best = 0, least = Infinity;
    palette.forEach((other, number) => {
      const distance = (r - (other >> 16)) ** 2 + (g - ((other >> 8) & 255)) ** 2 + (b - (other & 255)) ** 2;
      if (distance < least) [best, least] = [number, distance];
    });
    return best;
  };
  const pixels = new Uint8Array(data.length / 4);
  for (let i = 0; i < pixels.length; i++) {
    const colour = (data[4 * i] << 16) | (data[4 * i + 1] << 8) | data[4 * i + 2];
    if (!index.has(colour)) index.set(colour, nearest(colour));
    pixels[i] = index.get(colour);
  }
  let text = "";
  const step = 32768;
  for (let i = 0; i < pixels.length; i += step) text += String.fromCharCode(...pixels.subarray(i, i + step));
  return [bitmap.width, bitmap.height, palette, btoa(text)];
}"""


def small_png(page: Page, png: bytes) -> bytes:
    """Return the picture with a palette. page: any page, in which its pixels are counted."""
    width, height, palette, encoded = page.evaluate(_QUANTISE, base64.b64encode(png).decode())
    pixels = base64.b64decode(encoded)
    # Of palette images, rows without a filter compress best.
    rows = b"".join(b"\0" + pixels[start : start + width] for start in range(0, width * height, width))
    colours = b"".join(colour.to_bytes(3, "big") for colour in palette)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", colours),
            _chunk(b"IDAT", zlib.compress(rows, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
