// The data sets. The variable DATA names the folder of all of them. Single experiments read one data set alone, from
// the folder that SST_DATA or LM_DATA names.
local three(folder, train, dev, test) = {
  train: folder + train,
  dev: folder + dev,
  test: folder + test,
  // What a model trains on, where that is more than `train`. Then the readers, made from that of a single file: of all
  // parts, and of what a model trains on.
  training:: self.train,
  read(reader):: reader,
  read_training(reader):: self.read(reader),
};
{
  // Text for language models, one tokenised sentence a line: train-*.txt.gz, heldout.txt.gz.
  lm: {
    local folder = std.extVar("LM_DATA"),
    train: folder + "/train-*.txt.gz",
    heldout: folder + "/heldout.txt.gz",
  },
  // Trees of the Stanford Sentiment Treebank, or other text in its format: train.txt, dev.txt, test.txt.
  sst: three(std.extVar("SST_DATA"), "/train.txt", "/dev.txt", "/test.txt") {
    labels:: ["0", "1", "2", "3", "4"],
  },

  // The tasks of the paper at two scales. What is public is named by its address, what is licensed by where it is
  // expected in DATA; `allennlp elmo-tables check` says where to get it.
  tasks: {
    local folder = std.extVar("DATA"),
    local public = "https://allennlp.s3.amazonaws.com/datasets",
    local ontonotes = folder + "/conll-formatted-ontonotes-5.0/data",
    paper: {
      ner: three(folder + "/conll2003", "/eng.train", "/eng.testa", "/eng.testb"),
      srl: three(ontonotes, "/train", "/development", "/conll-2012-test"),
      coref: three(
        folder + "/coref",
        "/train.english.v4_gold_conll",
        "/dev.english.v4_gold_conll",
        "/test.english.v4_gold_conll"
      ),
      // The test set is not public.
      squad: three(public + "/squad", "/squad-train-v1.1.json", "/squad-dev-v1.1.json", "/squad-dev-v1.1.json"),
      snli: three(public + "/snli", "/snli_1.0_train.jsonl", "/snli_1.0_dev.jsonl", "/snli_1.0_test.jsonl"),
      sst: three(public + "/sst", "/train.txt", "/dev.txt", "/test.txt"),
    },
    small: {
      ner: three(folder + "/ner/wikigold", "/train.txt", "/dev.txt", "/test.txt"),
      srl: three(folder + "/srl/ewt_verbal", "/train", "/dev", "/test"),
      coref: three(
        folder + "/coref/ontogum_open", "/train_*.gold_conll", "/dev_*.gold_conll", "/test_*.gold_conll"
      ),
      squad: three(folder + "/qa", "/new_wiki/train.json", "/new_wiki/dev.json", "/xquad/xquad.en.json") {
        // The model trains on QAMR's questions as well.
        training:: folder + "/qa/{new_wiki,qamr}/train.json",
        read_training(reader):: { type: "joined", reader: reader },
      },
      // SNLI's development part to train on and to choose the epoch by, and its test part.
      snli: three(folder + "/nli/snli", "/dev.jsonl[:90%]", "/dev.jsonl[90%:]", "/test.jsonl") {
        read(reader):: { type: "slice", reader: reader },
      },
      sst: three(folder + "/sst", "/train.txt", "/dev.txt", "/test.txt"),
    },
  },
  // Of an experiment that trains on `fraction` of the data: the readers and the paths.
  of_task(files, reader, fraction=1, training={}):: {
    dataset_reader: local whole = files.read_training(reader + training);
                    if fraction == 1 then whole else { type: "fraction", reader: whole, fraction: fraction },
    validation_dataset_reader: files.read(reader),
    train_data_path: files.training,
    validation_data_path: files.dev,
    test_data_path: files.test,
    evaluate_on_test: true,
  },
  // Words by spaCy's rules alone, which need no model.
  tokenizer: { type: "spacy", language: "blank:en", pos_tags: false },
}
