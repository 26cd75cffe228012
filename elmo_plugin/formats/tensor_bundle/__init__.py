"""
TensorFlow's checkpoints (tensor bundles: `x.index` and `x.data-00000-of-00001`), read without TensorFlow.

`bundle.Bundle` is the door. Beneath it are the pieces of the format, each a module: the sorted table of LevelDB
(`table`), the wire format of protocol buffers (`messages`), Snappy (`snappy`) and the checksum CRC-32C (`crc32c`).
The pieces raise `ValueError` where the bytes cannot be what they should be; `bundle` makes a `FormatError` of it.
"""
