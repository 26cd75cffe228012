"""
A page on this machine that shows what a biLM makes of sentences. Behind `allennlp elmo-explore`.

- `text`: what was typed, as tokens, within `limits`
- `embedder`: vectors for several people at once
- `explorer`: all that is loaded: the biLM, its softmax, an index, a text with senses
- `nearest`: the neighbours of a word, from an index or from the page
- `similarity`, `spread`, `surprisal`, `archives`: the other views as numbers
- `figures`: numbers to plots, as Plotly's JSON
- `_page`: the page and its server, the only part that needs Dash
"""
