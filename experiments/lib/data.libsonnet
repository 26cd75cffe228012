// The data sets: one variable each, the folder in which the files lie.
{
  // Text for language models, one tokenised sentence a line: train-*.txt.gz, heldout.txt.gz.
  lm: {
    local folder = std.extVar("LM_DATA"),
    train: folder + "/train-*.txt.gz",
    heldout: folder + "/heldout.txt.gz",
  },
  // Trees of the Stanford Sentiment Treebank, or other text in its format: train.txt, dev.txt, test.txt.
  sst: {
    local folder = std.extVar("SST_DATA"),
    train: folder + "/train.txt",
    dev: folder + "/dev.txt",
    test: folder + "/test.txt",
    labels:: ["0", "1", "2", "3", "4"],
  },
}
