"""``bbparse train`` and ``train-tagger``: train a model, or a tagger, on a treebank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, OutputFile, RealRange, command, flag, option, say
from bbparse.apps.cli.evaluate import TAGS
from bbparse.apps.cli.model import results, table
from bbparse.models import MODELS
from bbparse.models.configuration import CONFIGURATIONS, Configuration
from bbparse.models.learning.checkpoint import Checkpoint, digest_of
from bbparse.models.learning.train import TextModels, train_text_models
from bbparse.models.model import NOTE
from bbparse.models.model_file import load_base, load_model, load_tagger, save_tagger
from bbparse.neural.embeddings import Embeddings, fit_base, fit_encoder, read_vectors
from bbparse.neural.embeddings.encoder import remove_states
from bbparse.neural.embeddings.vectors import FIRST_WORDS
from bbparse.neural.labelling import LabelSettings
from bbparse.parser.parser import Parser
from bbparse.parser.silver import check_raw, check_teacher, label_text
from bbparse.runtime.errors import BBParseError, TreebankError
from bbparse.text.silver import Silver
from bbparse.text.tagger_training import train_tagger as learn_tags
from bbparse.text.tokenizer_training import train_tokenizer
from bbparse.treebank import Sentence, evaluate, read_conllu

#: Makes embeddings for training and development sentences.
Loader = Callable[[Sequence[Sentence], Sequence[Sentence]], Embeddings]


class _Layers(click.ParamType):
    """The number of layers, or the first and the last that are averaged."""

    name = "layers"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | tuple[int, int]:
        """Return the layers."""
        numbers = value.split("-")
        if not 1 <= len(numbers) <= 2 or not all(part.isdecimal() for part in numbers):
            self.fail(f"{value!r} is no number of layers, or two such as 5-8", param, ctx)
        first, last = int(numbers[0]), int(numbers[-1])
        if not 1 <= first <= last:
            self.fail(f"{value!r}: layers count from 1, and the first comes first", param, ctx)
        return last if len(numbers) == 1 else (first, last)


encoder_layers = option(
    "--encoder-layers",
    "Use the first N layers of --encoder, and the mean of the last four of them, or the mean of"
    " layers M to N.  [default: all]",
    _Layers(),
    metavar="N|M-N",
)

_OPTIONS = (
    option(
        "--vectors",
        "Pretrained word vectors in the text format of word2vec, fastText (.vec) or"
        " GloVe, plain or compressed (.gz, .xz).",
        FILE,
    ),
    option(
        "--first-words",
        "Keep the first N vectors of --vectors and those of the treebank's words."
        f"  [default: {FIRST_WORDS}]",
        click.IntRange(0),
    ),
    option(
        "--encoder",
        "Contextual encoder. One like BERT (MiniLM, e5, XLM-R, MPNet) from a FOLDER with its"
        " model.safetensors becomes part of the model; with others, training and parsing need"
        " PyTorch and transformers.",
        metavar="NAME|FOLDER",
    ),
    encoder_layers,
    option(
        "--encoder-bits",
        "Round weights of --encoder to some B bits each, for a smaller model.  [default: 6]",
        RealRange(2.0, 8.0),
        metavar="B",
    ),
    option(
        "--pieces",
        "Keep the N most frequent pieces of --encoder, and single characters.  [default: all]",
        click.IntRange(1),
    ),
    option(
        "--base",
        "Model whose encoder is used, such as world: the new model names it instead of holding it,"
        " and is small.",
        MODELS,
    ),
    option(
        "--vectors-license", "Licence of the vectors or the encoder, for the card.", metavar="TEXT"
    ),
)


def embedding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options of this module to a command."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


@contextmanager
def embedding_loader(options: dict[str, Any], target: Path) -> Iterator[Loader | None]:
    """Yield the argument `embeddings` of `bbparse.Parser.train`.

    Its options are removed from ``options``. States of an encoder are cached beside ``target``
    until the block ends well.
    """
    names = ("vectors", "first_words", "encoder", "vectors_license")
    vectors, first, encoder, license = (options.pop(name) for name in names)
    held = {name: options.pop(f"encoder_{name}") for name in ("layers", "bits")}
    held["pieces"] = options.pop("pieces")
    base = options.pop("base")
    if sum(source is not None for source in (vectors, encoder, base)) > 1:
        raise click.UsageError("--vectors, --encoder and --base exclude each other")
    for name, value, needed in (
        ("--first-words is for --vectors", first, vectors),
        ("--encoder-layers is for --encoder", held["layers"], encoder),
        ("--encoder-bits is for --encoder", held["bits"], encoder),
        ("--pieces is for --encoder", held["pieces"], encoder),
        ("--vectors-license is for --vectors and --encoder", license, vectors or encoder),
    ):
        if value is not None and needed is None:
            raise click.UsageError(name)
    if encoder is not None or base is not None:
        cache = target.with_name(target.name + ".states")
        yield (
            partial(fit_base, load_base(base), folder=cache)
            if base is not None
            else partial(fit_encoder, encoder, folder=cache, license=license, **held)
        )
        remove_states(cache)
    elif vectors is not None:
        count = FIRST_WORDS if first is None else first
        yield partial(read_vectors, vectors, first=count, license=license)
    else:
        yield None


def _print_configuration(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        path = CONFIGURATIONS.path(value)
        Configuration.load(path)  # reports errors of the file
        click.echo(path.read_text(encoding="utf-8"), nl=False)
        ctx.exit()


@command()
@click.argument("treebanks", type=FILE, metavar="TRAIN…", nargs=-1, required=True)
@option("--dev", "Development treebank, to calibrate confidence and to measure accuracy.", FILE)
@option(
    "--config config_name",
    "Configuration: a TOML file, or the name of one that comes with bbparse.",
    CONFIGURATIONS,
    "english",
)
@option(
    "--print-config",
    "Print a configuration and stop; edit it and pass it as --config.",
    CONFIGURATIONS,
    is_eager=True,
    expose_value=False,
    callback=_print_configuration,
)
@option("--model", "Where to write the model.", OutputFile(streams=False), required=True)
@option(
    "--factors",
    "Factor families, instead of the configuration's; '' for none. See 'bbparse factors'.",
    metavar="NAME,NAME…",
)
@option("--prune", "Candidate heads per word.", click.IntRange(1), metavar="K")
@options.epochs
@options.seed
@option(
    "--projective",
    "yes: projective trees only; no: crossing arcs, too; auto: no if at least 5 %"
    " of the trees of TRAIN have some. Default: the configuration's.",
    ["yes", "no", "auto"],
)
@option(
    "--text-from",
    "Take tokenizer and tagger from this model or tagger instead of training them.",
    MODELS,
)
@flag("--no-text", "Train no tokenizer and no tagger: the model parses words with tags only.")
@flag("--skip-invalid", "Leave out sentences without a well-formed tree; report their number.")
@option(
    "--raw",
    "Running text: the networks also learn from the trees that the teacher finds in it;"
    " may be repeated.",
    FILE,
    multiple=True,
)
@option(
    "--teacher",
    "Model that parses --raw. Default: a model that is first trained on TRAIN alone.",
    MODELS,
)
@embedding_options
@option("--name", "Name of the treebank, for the model's card.", metavar="TEXT")
@option("--language", "Language, such as hu, for the model's card.", metavar="CODE")
@option("--license", "Licence of the model, for the card.", metavar="TEXT")
def train(
    treebanks: tuple[str, ...],
    dev: str | None,
    config_name: str,
    model: str,
    text_from: str | None,
    no_text: bool,
    skip_invalid: bool,
    raw: tuple[str, ...],
    **about: Any,
) -> None:
    """Train a model on the trees of TRAIN.

    The model has a parser, a tokenizer and a tagger, so it parses running text. Its card says which
    data and settings it was trained with and how accurate it is on the dev treebank; see 'bbparse
    model'.

    TRAIN, of which there may be several, and the dev treebank are CoNLL-U or CoNLL-X files, plain
    or compressed (.gz, .xz). An interrupted run leaves a checkpoint beside the model; the same
    command resumes it.

    With --raw, a teacher tokenizes, tags and parses running text, and the model also learns from
    the sentences of which the teacher is confident.

    \b
    Examples:
      bbparse train train.conllu --dev dev.conllu --config english --model en.model
      bbparse train --print-config english > mine.toml
      bbparse train train.conllu --dev dev.conllu --config mine.toml --model mine.model
      bbparse train train.conllu --dev dev.conllu --raw text.txt --model en.model
    """
    config, factors = _configured(config_name, about), about.pop("factors")
    base = about["base"]
    names = None if factors is None else [name for name in factors.split(",") if name]
    teacher, target = about.pop("teacher"), Path(model)
    _check_options(text_from, no_text, teacher, raw, config)
    with embedding_loader(about, target) as load:
        single_root = config.model.single_root
        sentences = read_trees(treebanks, skip_invalid, single_root)
        dev_sentences = read_trees([dev], skip_invalid, single_root) if dev is not None else []
        known = None if text_from is None else TextModels(*load_tagger(MODELS.path(text_from)))

        def learn(target: Path, silver: Silver | None = None) -> Parser:
            def reading(embeddings: Embeddings | None, checkpoint: Checkpoint) -> TextModels:
                given = sentences, config.learning.seed, embeddings, checkpoint
                quick, text = base is not None, silver or ()
                return known or train_text_models(*given, quick=quick, silver=text, say=say)

            return Parser.train(
                sentences,
                dev_sentences,
                config,
                factors=names,
                model=target,
                embeddings=load,
                reading=None if no_text else reading,
                about=about,
                report=say,
                checkpoint=target.with_name(target.name + ".checkpoint"),
                silver=silver,
            )

        silver, temporary = None, list[Path]()
        if raw:
            identity = digest_of((*sentences, *dev_sentences), config.to_table(), names, text_from)
            silver, temporary = _silver(raw, teacher, target, learn, identity, sentences)
            words, left_out = silver.counts()
            say(f"raw text: {words} words; skipped {left_out} in sentences of low confidence")
        parser, facts = learn(target, silver), dict[str, Any]()
        if silver is not None:
            by = "a model of TRAIN alone" if teacher is None else Path(teacher).stem
            facts["raw_text"] = {"words": words, "teacher": by}
        _add_facts(parser, facts, dev_sentences, target)
        if base is not None and dev_sentences:
            alone = results(load_model(base), dev_sentences)
            say(f"\n{base} itself, which was not trained on this treebank:\n{table(alone)}")
    for path in temporary:
        path.unlink(missing_ok=True)
    say(f"wrote {target}")


def _check_options(
    text_from: str | None,
    no_text: bool,
    teacher: str | None,
    raw: Sequence[str],
    config: Configuration,
) -> None:
    """Raise `click.UsageError` for options that exclude or need each other."""
    for is_wrong, message in (
        (text_from is not None and no_text, "--text-from and --no-text exclude each other"),
        (teacher is not None and not raw, "--teacher has nothing to parse: give --raw, too"),
        (raw and no_text and teacher is None, "--raw with --no-text needs a --teacher"),
        (raw and not config.network.epochs, "--raw is for networks, and network.epochs is 0"),
    ):
        if is_wrong:
            raise click.UsageError(message)


def _add_facts(
    parser: Parser, facts: dict[str, Any], dev: Sequence[Sentence], target: Path
) -> None:
    """Add to a model's card what training does not know: these facts, and accuracy on dev."""
    if dev:
        facts["results"] = results(parser.model, dev)
        say(table(facts["results"]))
    if facts:
        parser.model.notes[NOTE] |= facts
        parser.save(target)


def _silver(
    raw: Sequence[str],
    teacher: str | None,
    target: Path,
    learn: Callable[[Path], Parser],
    identity: str,
    gold: Sequence[Sentence],
) -> tuple[Silver, list[Path]]:
    """Return the trees that a teacher finds in raw text, and the files to remove in the end."""
    text, temporary = check_raw(raw), list[Path]()
    if teacher is not None:
        path = MODELS.path(teacher)
    else:
        path = target.with_name(f"{target.name}.teacher-{identity[:12]}")
        temporary.append(path)
        if not path.exists():
            unfinished = path.with_name(path.name + ".part")
            learn(unfinished)
            unfinished.replace(path)
    parser = Parser.load(path)
    check_teacher(teacher or str(path), parser, gold)
    identity = digest_of((), text, blake2b(path.read_bytes()).hexdigest())
    temporary.append(target.with_name(f"{target.name}.silver-{identity[:12]}"))
    return label_text(parser, raw, temporary[-1], identity), temporary


def _configured(name: str, options: dict[str, Any]) -> Configuration:
    """Load a configuration and apply the options that change it, which are removed."""
    config = Configuration.load(name)
    learner = "network" if config.network.epochs else "learning"
    config = config.with_("pruner", k=options.pop("prune"))
    config = config.with_("learning", seed=options.pop("seed"))
    config = config.with_(learner, epochs=options.pop("epochs"))
    projective = options.pop("projective")
    if projective is None:
        return config
    return config.with_("model", projective={"yes": True, "no": False}.get(projective, projective))


def read_trees(paths: Sequence[str], skip_invalid: bool, single_root: bool) -> list[Sentence]:
    """Read the trees of treebanks; report sentences that are skipped."""
    sentences: list[Sentence] = []
    for path in _distinct(paths):
        skipped: list[BBParseError] = []
        count = len(sentences)
        sentences += read_conllu(
            path,
            require_heads=True,
            single_root=single_root,
            skip_invalid=skip_invalid,
            on_skip=skipped.append,
        )
        if skipped:
            say(f"{len(skipped)} sentences skipped; the first: {skipped[0]}")
        if len(sentences) == count:
            raise TreebankError(f"{path}: no sentence is left to use")
    return sentences


def _distinct(paths: Sequence[str]) -> Sequence[str]:
    """Return the files of a treebank; raises `TreebankError` if one is given twice."""
    for i, path in enumerate(paths):
        if path in paths[:i]:
            raise TreebankError(f"{path}: given twice to train on")
    return paths


@command("train-tagger")
@click.argument("treebanks", type=FILE, metavar="TRAIN…", nargs=-1, required=True)
@option("--dev", "Treebank to report the accuracy on.", FILE)
@option("--model", "Where to write the tagger.", OutputFile(streams=False), required=True)
@options.epochs
@option("--seed", "Random seed.", click.IntRange(0), 1, metavar="S")
@embedding_options
def train_tagger(
    treebanks: tuple[str, ...],
    dev: str | None,
    model: str,
    epochs: int | None,
    seed: int,
    **vectors: Any,
) -> None:
    """Train a tagger (UPOS, XPOS, FEATS, lemmas) and a tokenizer on TRAIN.

    TRAIN and the dev treebank are CoNLL-U or CoNLL-X files. Columns that are empty in TRAIN
    stay empty.

    \b
    Example:
      bbparse train-tagger train.conllu --dev dev.conllu --model en.tagger
    """
    target = Path(model)
    settings = None if epochs is None else LabelSettings(epochs=epochs)
    with embedding_loader(vectors, target) as load:
        sentences = [one for path in _distinct(treebanks) for one in read_conllu(path)]
        dev_sentences = list(read_conllu(dev)) if dev is not None else []
        embeddings = None if load is None else load(sentences, dev_sentences)
        tagger = learn_tags(sentences, settings, seed, embeddings=embeddings)
        if dev_sentences:
            values = evaluate(dev_sentences, tagger.tag(dev_sentences)).as_dict()
            scores = {title: values[name] for name, title in TAGS.items() if name in values}
            tagger.notes["dev"] = {title: round(share, 6) for title, share in scores.items()}
            shown = ", ".join(f"{title} {100 * share:.2f}" for title, share in scores.items())
            say(f"dev: {shown}")
        save_tagger(target, tagger, train_tokenizer(sentences))
    say(f"wrote {target}")
