"""
What the layers of a biLM know of word senses and parts of speech: tables 4 to 6 of Peters et al. (2018).

- `senses`: texts whose words have senses, and `semcor` and `raganato`, which read them
- `sentences`: their sentences alone; `known_senses`: which sense a token has; `sense_names`: what a sense key says
- `first_sense`: the sense to take without looking at the sentence
- `word_vectors`: the vectors of such words, window by window
- `sense_vectors`: the nearest average of each sense's training vectors
- `shares`: how many of the nearest tokens have the same sense
- `scoring`: F1 by the rules of Raganato et al. (2017), and intervals over sentences
- `random_bilm`: a biLM that was never trained
- `senses_run`, `tags_run`: all of that for one biLM
- `tables`: the results beside the paper's

Behind `allennlp elmo-probes`.
"""
