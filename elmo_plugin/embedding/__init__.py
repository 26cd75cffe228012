"""
Vectors for text of any length: read, plan, embed, write, and go on after an interruption.

- `text`: lines and tokens
- `windows`: what is held in memory at once, and the batches within
- `embedder`: a biLM over one window
- `journal`: what is finished, on disk
- `writers`: the formats of the result
- `run`: all of that together, behind `allennlp elmo` and `ElmoEmbedder.embed_file`
- `scoring`: the language model's probabilities
- `ray_data`: the same on a cluster, by `workers` that write `partitions`
"""
