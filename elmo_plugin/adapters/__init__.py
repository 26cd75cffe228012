"""What the AllenNLP components share: finding weights, old names, the start state. No registered class is here."""
