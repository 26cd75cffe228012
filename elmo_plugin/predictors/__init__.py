from elmo_plugin.predictors.elmo import ElmoPredictor  # noqa: F401
