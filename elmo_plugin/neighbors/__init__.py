"""
Which tokens of a text are nearest to a token in its sentence, layer by layer.

- `library`: faiss, which searches
- `nearest`: exact search through vectors that come in blocks
- `words`: the distinct words of a text, whose static vectors are the token layer's
- `approximate`: search through a part of the vectors, with its recall measured
- `build`: a text to an index on disk
- `index`: an index, opened
- `query`: a sentence with a marked word, and what is near it
- `report`: that as text and as Markdown

Behind `allennlp elmo-neighbors`. Similarity is the cosine.
"""
