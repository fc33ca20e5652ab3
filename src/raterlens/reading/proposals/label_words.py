"""Whom or what a label names: a rater, a criterion, or the total of a table."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from raterlens.reading.proposals.role_words import known, plain, words

_RATERS = re.compile(
    r"[rjaw]_?\d+|(rater|judge|annotator|marker|grader|scorer|coder|examiner|assessor|reviewer|evaluator|expert|teacher|"
    r"prufer|pruefer|bewerter|korrektor|gutachter|correcteur|examinateur|juge|evaluateur|evaluador|corrector|juez|"
    r"examinador|valutatore|correttore|giudice|avaliador|corretor|juiz|beoordelaar|worker|user|llm|model|"
    r"human)_?(\d+|[a-z])?"
)
_PEOPLE = re.compile(
    unicodedata.normalize("NFKD", r".+(老师|老師|教师|教師|教授|先生|评委|評審|선생님|교수님?)")
)
_MODELS = re.compile(
    r"(gpt|chatgpt|claude|llama|gemini|gemma|mistral|mixtral|qwen|deepseek|phi|command_r|grok|o1|o3|o4|palm|yi|nova|"
    r"sonnet|opus|haiku|human|falcon|vicuna|prometheus|cohere|kimi|glm|nemotron)([_\d].*|[a-z]?)"
)
_ITEMS = re.compile(
    r"[qitck]_?\d+[a-z]?|(item|question|task|criterion|crit|part|aufgabe|frage|kriterium|teil|critere|exercice|pregunta|tarea|"
    r"criterio|domanda|compito|esercizio|questao|tarefa|vraag|opdracht|dimension|aspect|trait|section|problem|ex)"
    r"_?(\d+[a-z]?|[ivx]+)"
)
_CRITERIA = words(
    "content, style, grammar, spelling, organisation, organization, structure, vocabulary, plot, fluency, "
    "pronunciation, accuracy, coherence, cohesion, argument, argumentation, clarity, relevance, helpfulness, "
    "correctness, correct, harmlessness, faithfulness, factuality, safety, toxicity, completeness, creativity, "
    "originality, layout, presentation, mechanics, conventions, voice, ideas, word choice, sentence fluency, "
    "punctuation, focus, evidence, analysis, tone, task achievement, lexical resource, range, interaction, "
    "delivery, conciseness, groundedness, overall, quality, language, form, method, results, discussion, "
    "introduction, conclusion, specificity, instruction following, readability, consistency, truthfulness, "
    "usefulness, Inhalt, Stil, Sprache, Grammatik, Rechtschreibung, Aufbau, Ausdruck, Gliederung, Wortschatz, "
    "Struktur, Argumentation, Zeichensetzung, Kreativität, Logik, Form, Verständlichkeit, contenu, grammaire, "
    "orthographe, vocabulaire, langue, plan, cohérence, expression, contenido, estilo, gramática, ortografía, "
    "vocabulario, estructura, coherencia, cohesión, contenuto, stile, grammatica, ortografia, lessico, "
    "struttura, coerenza, forma, conteúdo, vocabulário, estrutura, coerência, coesão, inhoud, stijl, "
    "woordenschat, opbouw, samenhang, structuur, maths, math, mathematics, physics, chemistry, biology, history, "
    "geography, english, german, french, spanish, latin, music, art, reading, writing, listening, speaking, "
    "science, Mathe, Mathematik, Deutsch, Englisch, Physik, Chemie, Biologie, Geschichte, Musik, mathématiques, "
    "français, anglais, matemáticas, historia, matematica, storia, wiskunde"
)
_TOTALS = words(
    "total, totals, sum, average, mean, avg, median, grand total, overall average, class average, overall mean, "
    "standard deviation, std, average score, mean score, Summe, Gesamt, Gesamtsumme, Mittelwert, Durchschnitt, "
    "Insgesamt, Gesamtpunkte, Gesamtpunktzahl, Notenschnitt, Standardabweichung, totaux, somme, moyenne, moyenne "
    "générale, médiane, écart type, total général, suma, promedio, media, total general, mediana, totale, somma, "
    "media generale, soma, média, média geral, totaal, gemiddelde, gemiddeld, total score, sum score, overall "
    "score, Ø, Σ"
)
_SIGNS = ("ø", "Ø", "Σ", "∑", "μ", "x̄")


def like_rater(label: str) -> bool:
    """Whether a label is one for a rater or a judge model: "Rater 1", "gpt-4o", "ann@school.org".

    Examples
    --------
    >>> [like_rater(label) for label in ("Judge 2", "R3", "gpt-4o", "ann@x.org", "Ann", "Content")]
    [True, True, True, True, False, False]
    """
    text = plain(label)
    return bool(
        _PEOPLE.fullmatch(text)
        or _RATERS.fullmatch(text)
        or _MODELS.fullmatch(text)
        or re.fullmatch(r"\S+@\S+\.\w+", label.strip())
    )


def like_item(label: str) -> bool:
    """Whether a label is one for a criterion, a task or a subject: "Q1", "Inhalt", "Sentence fluency".

    Examples
    --------
    >>> [like_item(label) for label in ("Q1", "Inhalt", "Aufgabe 2a", "Ann")]
    [True, True, True, False]
    """
    text = plain(label)
    return bool(_ITEMS.fullmatch(text)) or text in known(_CRITERIA)


def is_total(label: str) -> bool:
    """Whether a label says that the row or column sums up others: "Total", "Mittelwert:", "Ø".

    Examples
    --------
    >>> [is_total(label) for label in ("Total", "MITTELWERT:", "Ø", "Average (n=30)", "Totò", "Meanwell")]
    [True, True, True, True, False, False]
    """
    bare = re.sub(r"\([^)]*\)", "", label).strip(" :=*.-")
    return bare in _SIGNS or (bool(bare) and plain(bare) in known(_TOTALS))


@cache
def total_pattern() -> str:
    """A pattern that every label of a total fits in small letters, and few others do: for many labels at once."""
    words = {word.casefold()[:4] for word in _TOTALS if len(word) > 1}
    return "^[^a-zà-ÿ]*(" + "|".join(map(re.escape, sorted(words))) + ")|[" + "".join(_SIGNS[:5]) + "]"


def sides(raters: Iterable[str], items: Iterable[str]) -> bool | None:
    """Whether two lists of labels are raters and items in this order; None where the labels do not say."""
    first, second = list(raters), list(items)
    forward = _mostly(like_rater, first) + _mostly(like_item, second)
    backward = _mostly(like_item, first) + _mostly(like_rater, second)
    return None if forward == backward else forward > backward


def _mostly(kind: Callable[[str], bool], labels: Sequence[str]) -> bool:
    return 2 * sum(map(kind, labels)) > len(labels)
