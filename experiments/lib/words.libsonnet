// Word vectors: where they are and how wide they are.
local allennlp = "https://allennlp.s3.amazonaws.com/datasets/glove/";
{
  paper: {
    glove_300: { file: allennlp + "glove.840B.300d.txt.gz", dim: 300 },
    glove_100: { file: allennlp + "glove.6B.100d.txt.gz", dim: 100 },
    senna: { file: std.extVar("DATA") + "/senna/senna.50d.txt", dim: 50 },
  },
  // Trained on the text that the biLM is trained on: `allennlp elmo-tables vectors`.
  small: {
    local own = { file: std.extVar("VECTORS"), dim: 100 },
    glove_300: own,
    glove_100: own,
    senna: own,
  },
  embedder(vectors, trainable):: {
    type: "embedding",
    embedding_dim: vectors.dim,
    pretrained_file: vectors.file,
    trainable: trainable,
  },
  // Characters of a word through a convolution, as several of the models have them.
  characters(dim, filters, widths, dropout=0.0):: {
    type: "character_encoding",
    embedding: { embedding_dim: dim, vocab_namespace: "token_characters" },
    encoder: { type: "cnn", embedding_dim: dim, num_filters: filters, ngram_filter_sizes: widths },
    dropout: dropout,
  },
  // AllenNLP's convolution leaves out what reaches beyond the end of a word: without the marks behind it a word that is
  // shorter than a filter is wide would have nothing of it.
  character_indexer(width):: {
    type: "characters",
    character_tokenizer: { end_tokens: std.repeat(["</w>"], width - 1) },
    min_padding_length: width,
  },
}
