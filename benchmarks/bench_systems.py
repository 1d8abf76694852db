"""Systems that benchmarks decode with: one of a folder of data, one of the synthetic pair."""

import tempfile
from pathlib import Path


def real_system(data):
    from luthier.corpus.lines import read_lines
    from luthier.grammar.reading import read_grammar
    from luthier.kbest.weights import read_weights
    from luthier.lm.storage import open_lm

    lists, texts = data / "kbest-de-en", data / "multi30k"
    model = open_lm(texts / "train.en.5gram.arpa.gz")
    weights = read_weights(lists / "weights.final")
    return read_grammar(lists / "grammar.val.gz"), model, read_lines(texts / "val.de.gz"), weights


def synthetic_system(n_pairs=5_000, n_sentences=300):
    from luthier.corpus.texts import Texts
    from luthier.decoding.models import default_weights
    from luthier.grammar.extraction.extract import extract
    from luthier.grammar.model import read_model
    from luthier.lm.estimate import EstimateOptions, estimate_lm
    from luthier.lm.model import LanguageModel
    from luthier.synthetic.pair.pair import PairGenerator

    generator = PairGenerator()
    pairs = list(generator.pairs("train", n_pairs, 0))
    targets = [str(pair.references[0]) for pair in pairs]
    sentences = Texts.from_strings([str(pair.source) for pair in generator.pairs("test", n_sentences, 0)])
    with tempfile.TemporaryDirectory() as name:
        links = Path(name, "links")
        links.write_text("".join(" ".join(f"{i}-{j}" for i, j in pair.links) + "\n" for pair in pairs))
        model, _ = read_model([str(pair.source) for pair in pairs], targets, links)
    grammar = extract(model, sentences)
    lm = LanguageModel.from_arpa(estimate_lm(targets, EstimateOptions(order=5)).model)
    names = (*grammar.feature_names, "Glue", "PassThrough", "WordPenalty", "LanguageModel", "LanguageModel_OOV")
    return grammar, lm, sentences, default_weights(names)
