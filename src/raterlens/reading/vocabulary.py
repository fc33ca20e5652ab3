"""Words for roles, raters, items, totals, verdicts, grades and missing marks, in the languages that are read."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache


def words(text: str) -> tuple[str, ...]:
    """Words between commas.

    Examples
    --------
    >>> words("grade, mark")
    ('grade', 'mark')
    """
    return tuple(text.split(", "))


# The usual names, then those that are taken only where there is none of the usual ones.
USUAL: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "student": (
        words(
            "student, person, pid, examinee, candidate, testtaker, test taker, Prüfling, Schüler, Schülerin, "
            "Studierende, Kandidat, Kandidatin, Matrikel, Proband, candidat, élève, étudiant, étudiante, "
            "estudiante, alumno, alumna, candidato, candidata, studente, studentessa, alunno, alunna, "
            "esaminando, allievo, estudante, aluno, aluna, leerling, kandidaat, 学生, 考生, 学号, 考号, 學生, "
            "學號, 受験者, 生徒, 학생, 수험생, студент, ученик"
        ),
        words(
            "subject, respondent, participant, pupil, learner, applicant, essay, script, response, sample, "
            "example, answer, submission, document, doc, text, passage, case, conversation, dialogue, instance, "
            "unit, output, completion, artifact, image, Teilnehmer, Teilnehmerin, Bewerber, Aufsatz, Arbeit, "
            "Antwort, participante, partecipante, deelnemer, copie, ensayo, redacción, redação, réponse, "
            "respuesta, risposta, resposta, antwoord, opstel, rédaction"
        ),
    ),
    "rater": (
        words(
            "rater, judge, annotator, marker, Prüfer, Prüferin, Bewerter, Bewerterin, Korrektor, Korrektorin, "
            "Beurteiler, Gutachter, correcteur, correctrice, examinateur, examinatrice, juge, évaluateur, "
            "évaluatrice, evaluador, evaluadora, corrector, correctora, examinador, examinadora, juez, "
            "calificador, valutatore, valutatrice, correttore, correttrice, esaminatore, giudice, avaliador, "
            "avaliadora, corretor, corretora, juiz, juíza, beoordelaar, examinator, nakijker, jurylid, "
            "Erstprüfer, Zweitprüfer, 评分员, 阅卷人, 评委, 老师, 評分員, 評審, 老師, 評価者, 採点者, 채점자, "
            "평가자, эксперт"
        ),
        words(
            "scorer, grader, reader, assessor, examiner, reviewer, evaluator, coder, worker, labeler, labeller, rated "
            "by, marked by, graded by, scored by, completed by, annotated by, teacher, judge model, judge llm, "
            "llm judge, username, user, Lehrkraft, Lehrer, Lehrerin, enseignant, professeur, profesor, "
            "profesora, docente, professor, professora, docent, jury, jurado, Jury, llm"
        ),
    ),
    "item": (
        words(
            "item, criterion, task, question, Aufgabe, Kriterium, Frage, Teilaufgabe, critère, tâche, exercice, "
            "criterio, pregunta, tarea, ítem, ejercicio, domanda, compito, esercizio, quesito, critério, "
            "questão, pergunta, tarefa, exercício, opdracht, vraag, taak, onderdeel, 题目, 项目, 标准, 題目, "
            "項目, 基準, 設問, 문항, задание"
        ),
        words(
            "trait, criteria, dimension, aspect, prompt, rubric, Merkmal, Aspekt, épreuve, aspecto, dimensión, "
            "aspetto, dimensione, dimensão, metric"
        ),
    ),
    "score": (
        words(
            "score, rating, y, Punkte, Punktzahl, Note, Bewertung, Wertung, Urteil, note, points, puntuación, "
            "calificación, puntos, nota, puntaje, punteggio, voto, pontuação, pontos, punten, cijfer, "
            "beoordeling, 分数, 得分, 成绩, 評分, 分數, 成績, 点数, 得点, 점수, оценка, балл"
        ),
        words(
            "verdict, label, mark, grade, pass, passed, outcome, result, judgment, judgement, decision, winner, "
            "preference, preferred, correct, is correct, stars, value, annotation, Ergebnis, bestanden, "
            "résultat, réussi, resultado, aprobado, risultato, esito, superato, aprovado, resultaat, geslaagd, "
            "valutazione, évaluation, evaluación, avaliação, marks, overall"
        ),
    ),
}
IDENTIFIERS = words("id, uid, uuid, key, index, name, Name, nom, nombre, nome, naam, Kennung, code, nr")
"""Names of whatever is rated, where nothing else is."""
KEYS = words(
    "id, uid, uuid, key, answer id, response id, sample id, example id, row id, item id, doc id, trace id"
)
"""Names of columns that number answers."""
FORM_SENDERS = words(
    "your name, email address, email, e mail, username, Ihr Name, Dein Name, E-Mail-Adresse, votre nom, adresse "
    "e-mail, tu nombre, su nombre, dirección de correo electrónico, il tuo nome, indirizzo email, seu nome, "
    "endereço de e-mail, uw naam, je naam, e-mailadres, rater name, nombre de usuario, who are you, your "
    "initials, your email, please enter your name, wer sind Sie, qui êtes vous"
)
"""Who filled in a form: the rater, where each answer has a time."""
TIMES = words(
    "timestamp, Zeitstempel, horodateur, marca temporal, informazioni cronologiche, tijdstempel, carimbo de "
    "data/hora, submitted at, submission time, completion time, end time, start time, start date, end date, "
    "recorded date"
)
"""When a form was filled in."""
VARIANTS = words(
    "model, system, engine, generator, variant, assistant, candidate model, bot, modell, modèle, file"
)
"""Whose answers are rated, beside the question that they answer."""
OTHER = words(
    "age, Alter, âge, edad, età, idade, leeftijd, year, Jahr, année, año, anno, ano, jaar, gender, sex, "
    "Geschlecht, sexe, sexo, sesso, geslacht, school, Schule, école, escuela, scuola, escola, class, Klasse, "
    "classe, clase, klas, group, Gruppe, groupe, grupo, gruppo, groep, date, Datum, fecha, data, datum, day, "
    "Tag, time, timestamp, Zeitstempel, Uhrzeit, horodateur, marca temporal, carimbo de data hora, informazioni "
    "cronologiche, tijdstempel, created at, updated at, duration, Dauer, seconds, minutes, lead time, order, "
    "sequence, seq, position, page, Seite, batch, round, session, Sitzung, occasion, week, month, semester, "
    "topic, Thema, weight, confidence, tokens, cost, latency, length, words, word count, row, Zeile, line, "
    "version, epoch, seed, temperature, comment, comments, remark, remarks, Kommentar, Bemerkung, Bemerkungen, "
    "commentaire, commentaires, comentario, comentarios, commento, commenti, comentário, comentários, opmerking, "
    "opmerkingen, feedback, explanation, rationale, reasoning, notes, seat, room, Raum, centre, center, country, "
    "region, language, language code, email, e mail, lfd nr, nr, no, #, lfd, num, number, rank, Rang, attempt, "
    "Versuch, split, fold"
)
"""Names of columns with small numbers that are not scores."""

GOLD = words(
    "gold, gold label, gold score, gold standard, golden, truth, ground truth, ground truth label, groundtruth, "
    "reference, reference label, reference answer, reference score, expected, expected output, expected label, "
    "expected answer, target, target label, correct answer, correct label, answer key, definitive, known, known "
    "answer, human label, human verdict, human judgment, human judgement, human annotation, true label, true "
    "score, label true, y true, expert label, oracle, Musterlösung, richtig ist, vérité terrain, etiqueta real, "
    "solución"
)
"""Names of known answers, which are neither a judge nor a score."""
FINAL = words(
    "final, agreed, adjudicated, adjudication, moderated, resolved, consensus, reconciled, awarded, official, "
    "endgültig, Endnote, Endpunkte, Endpunktzahl, Endergebnis, Gesamtnote, definitive, finale, définitive, "
    "définitif, harmonisée, définitivo, definitiva, definitivo, acordada, moderada, consensuada, concordato, "
    "finaal, eindcijfer, eindnote, vastgesteld, 3rd mark, adjudicator, moderator"
)
"""Words in the names of marks that are nobody's own."""
METADATA = words(
    "token, tokens, latency, cost, temperature, seed, ms, usd, eur, timestamp, ts, elapsed, runtime, duration, "
    "uuid, idx, top_p, ip, longitude, latitude, recipientlastname, progress, finished"
)
"""Words in the names of what a program notes down beside a score."""
DRAWS = words(
    "draw, draw id, draw no, epoch, epochs, sample, sample idx, sample no, sample index, run, run id, run no, "
    "run idx, seed, repeat, repetition, replicate, replication, rep, trial, attempt, iteration, iter, rollout, "
    "resample, pass no, Durchlauf, Wiederholung, répétition, repetición, ripetizione, repetição, herhaling"
)
"""Names of columns that distinguish several answers of a judge to the same question."""
CLASSES = words(
    "class, category, intent, sentiment, Klasse, Kategorie, catégorie, categoría, categoria, categorie"
)
"""Columns of classes, which may have an order."""
OCCASIONS = words(
    "date, day, time, timestamp, occasion, session, round, week, month, year, semester, batch, attempt, version, "
    "wave, topic, task, prompt, question, page, created at, submitted at, Datum, Tag, Zeit, Sitzung, Runde, "
    "Woche, Monat, Jahr, jour, séance, année, fecha, sesión, data, sessione, sessão, datum, sessie, when, epoch, "
    "run, sample, seed, file, sheet"
)
"""Names of columns that mark intended repeats."""
RANKS = words(
    "rank, ranking, place, placing, Rang, Platz, Rangplatz, Platzierung, classement, puesto, posición, posto, "
    "posição, plaats"
)

SUFFIX = re.compile(
    r"_?(ids?|name|no|nr|num|number|code|key|uid|kennung|nummer|kuerzel|kurzel|nom|nombre|nome|naam)$"
)
_PREFIX = re.compile(
    r"^(id|name|nom|nombre|nome|naam|code|nummer|numero|no|nr|n)_"
    r"(de_la_|de_l_|del_|della_|dello_|do_|da_|de_|du_|des_|di_|van_de_|van_|of_the_|of_|der_|l_|d_)?"
)


def plain(name: str) -> str:
    """'Student ID', 'student.id' and 'Étudiant' without what differs between spellings.

    Examples
    --------
    >>> plain("Student ID"), plain("Prüfling"), plain("N° du candidat"), plain("studentId")
    ('student_id', 'prufling', 'n_du_candidat', 'studentid')
    """
    text = unicodedata.normalize("NFKD", name.casefold().replace("n°", "n ").replace("nº", "n "))
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    return re.sub(r"[^\w#]+|_+", "_", text).strip("_")


def stems(name: str) -> set[str]:
    """A name as it is, and without what is added to say that it is an identifier.

    Examples
    --------
    >>> sorted(stems("Nom du candidat")), sorted(stems("student_id"))
    (['candidat', 'nom_du_candidat'], ['student', 'student_id'])
    """
    whole = plain(name)
    found = {whole, SUFFIX.sub("", whole), _PREFIX.sub("", whole)}
    found |= {SUFFIX.sub("", stem) for stem in found}
    return {stem for stem in found if stem}


@cache
def known(words: tuple[str, ...]) -> frozenset[str]:
    """Words as `plain` has them, with both ways to write German umlauts without dots."""
    pairs = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
    return frozenset(plain(form) for word in words for form in (word, word.translate(pairs)))


def tier(name: str, role: str) -> int | None:
    """How usual a name is for a role: 0, 1, or None where it is not."""
    found = stems(name)
    for rank, words in enumerate(USUAL[role]):
        if found & known(words):
            return rank
    return None


def mentions(name: str, role: str) -> bool:
    """Whether a longer heading has a word for the role in it: "Name of the student you assess"."""
    words = {word for part in plain(name).split("_") for word in (part, part.removesuffix("s"))}
    return bool(words & (known(USUAL[role][0]) | known(USUAL[role][1])))


def last_part(name: str) -> str:
    """The end of a name that is made of several: "score" of "result.score" and of "Grading info: Score"."""
    parts = re.split(r"[./]|: ", name)
    return parts[-1] if len(parts) > 1 else ""


def is_identifier(name: str) -> bool:
    """Whether a column is called as whatever has an identifier: "id", "sample_id", "key"."""
    whole = plain(name)
    return whole in known(IDENTIFIERS) or SUFFIX.search(whole) is not None


def is_key(name: str) -> bool:
    """Whether a column holds what identifies people: a user name or a number."""
    return bool(
        {*plain(name).split("_")} & {"id", "username", "number", "no", "nr", "code", "email", "matrikel"}
    )


def is_other(name: str) -> bool:
    """Whether a column is called as something that is neither a role nor a score."""
    technical = bool({*plain(name).split("_")} & known(METADATA))
    return technical or is_gold(name) or bool({plain(name), *stems(name)} & known(OTHER))


def is_gold(name: str) -> bool:
    """Whether a column is called as known answers are: "gold", "human_label", "metadata.expected"."""
    return bool({plain(name), *stems(name), plain(last_part(name))} & known(GOLD))


def is_final(name: str) -> bool:
    """Whether marks are called as those that several people agreed on: "Final mark", "Endpunkte"."""
    return bool({plain(name), *plain(name).split("_")} & known(FINAL))


@cache
def rater_words() -> tuple[str, ...]:
    return (*USUAL["rater"][0], *USUAL["rater"][1])


def has_rater_word(name: str) -> bool:
    """Whether a word for raters is in a name, with a number or another word joined to it: "Marker1", "Zweitprüfer"."""
    parts = [re.sub(r"\d+$", "", part) for part in plain(name).split("_")]
    usual = known(rater_words())
    return any(
        part in usual or any(len(word) > 5 and part.endswith(word) for word in usual)
        for part in parts
        if part
    )


def usual_role(name: str) -> str | None:
    """The role that a name, singular or plural, is usual for."""
    whole = plain(name)
    forms = stems(name) | {whole.removesuffix("s"), whole.removesuffix("es")}
    return next(
        (role for role, (usual, other) in USUAL.items() if forms & (known(usual) | known(other))), None
    )


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
    >>> [is_total(label) for label in ("Total", "MITTELWERT:", "Ø", "Average (n=30)", "Totò", "@SUM(1)")]
    [True, True, True, True, False, False]
    """
    if label.lstrip().startswith("@"):  # a name as people have them online
        return False
    bare = re.sub(r"\s\([^)]*\)", "", label).strip(" :=*.-")
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


_BLANKS = frozenset(("", "na", "nan", "null", "none", ".", "-", "–", "—", "?", "#n/a", "nd", "<na>"))
_ABSENT = frozenset(
    words(
        "n/a, n.a., k.a., k. a., n. b., n.b., n/b, abs, absent, absence, dns, did not sit, dnf, did not finish, "
        "dna, no show, no-show, noshow, withdrawn, wd, w/d, withdrew, exempt, exempted, excused, not applicable, "
        "not available, not assessed, not marked, not rated, not scored, not graded, no mark, no marks, no "
        "score, no rating, no grade, no answer, no response, no submission, not submitted, missing, unmarked, "
        "ungraded, unrated, illegible, void, voided, skip, skipped, ignore, ignored, pending, tbd, tba, unknown, "
        "undefined, parse_error, parse error, parseerror, parsing error, parse failure, invalid json, "
        "unparsable, unparseable, error, err, exception, failed to parse, timeout, timed out, refused, refusal, "
        "rate limit, rate_limit, cannot judge, can't judge, unable to judge, don't know, dont know, #value!, "
        "#ref!, #div/0!, #null!, #num!, abwesend, gefehlt, fehlt, krank, entschuldigt, unentschuldigt, befreit, "
        "zurückgetreten, nicht erschienen, nicht bewertet, nicht teilgenommen, nicht abgegeben, keine angabe, "
        "keine antwort, weiß nicht, entfällt, absente, abs., dispensé, dispensée, excusé, excusée, non noté, non "
        "rendu, abandon, nsp, pas de réponse, ausente, no presentado, np, n.p., exento, exenta, retirado, "
        "retirada, sin respuesta, no contesta, ns/nc, no entregado, assente, esonerato, esonerata, ritirato, "
        "ritirata, non valutato, non pervenuto, isento, isenta, dispensado, faltou, falta, não compareceu, sem "
        "resposta, não avaliado, desistente, afwezig, vrijgesteld, teruggetrokken, niet beoordeeld, geen "
        "antwoord, n.v.t., nvt, 缺考, 缺席, 未评分, 欠席, 未採点, 결석"
    )
)
_FAULT = re.compile(r"\W*(\w+[ _-]?){0,2}(error|exception)\b.*", re.IGNORECASE | re.DOTALL)
MISSING = _BLANKS | _ABSENT


def is_missing(text: str) -> bool:
    """Whether a text stands for a missing score: blank, absent, withdrawn, or an error of a program.

    Examples
    --------
    >>> [is_missing(text) for text in ("", "ABS", "PARSE_ERROR", "Error: timeout", "entschuldigt", "fail", "weak")]
    [True, True, True, True, True, False, False]
    """
    folded = text.strip().casefold()
    return folded in MISSING or (len(folded) < 200 and _FAULT.fullmatch(folded) is not None)


def says_missing(text: str) -> bool:
    """Whether it does so in words, which is worth a note."""
    return is_missing(text) and text.strip().casefold() not in _BLANKS


_PASS = words(
    "true, pass, passed, yes, correct, good, accept, accepted, approve, approved, right, ok, positive, thumbs "
    "up, thumbs_up, up, like, safe, acceptable, y, t, +, satisfactory, 👍, ✓, ✔, ✔️, ☑, ✅, 👍🏻, 👍🏼, 👍🏽, "
    "👍🏾, 👍🏿, 🙂, valid, relevant, met, competent, ja, bestanden, richtig, wahr, gut, angenommen, erfüllt, "
    "oui, vrai, réussi, reçu, admis, bon, bien, sí, si, verdadero, aprobado, correcto, bueno, apto, sì, vero, "
    "superato, corretto, idoneo, promosso, buono, sim, verdadeiro, aprovado, correto, bom, waar, geslaagd, goed, "
    "voldoende, juste, juist"
)
_FAIL = words(
    "false, fail, failed, no, incorrect, bad, reject, rejected, decline, declined, wrong, negative, thumbs down, "
    "thumbs_down, down, dislike, unsafe, unacceptable, n, f, not ok, 👎, ✗, ✘, ✖, ✖️, ☐, ☒, ❌, 👎🏻, 👎🏼, "
    "👎🏽, 👎🏾, 👎🏿, 🙁, unsatisfactory, not pass, invalid, irrelevant, not met, not yet competent, not "
    "passed, disapproved, not acceptable, nein, nicht bestanden, durchgefallen, falsch, schlecht, abgelehnt, "
    "nicht erfüllt, non, faux, échoué, refusé, ajourné, mauvais, mal, falso, suspenso, reprobado, incorrecto, "
    "malo, no apto, non superato, non corretto, non idoneo, bocciato, respinto, cattivo, scorretto, não, nao, "
    "reprovado, incorreto, ruim, mau, nee, onwaar, gezakt, slecht, onvoldoende, fout, onjuist"
)
VERDICTS: Mapping[str, float] = dict.fromkeys(_PASS, 1.0) | dict.fromkeys(_FAIL, 0.0)

_SINGLE = frozenset(("y", "n", "t", "f", "up", "down", "+", "mal", "si"))
"""Taken for a verdict only beside its opposite."""

LADDERS: tuple[tuple[str, ...], ...] = tuple(
    words(steps)
    for steps in (
        "very poor, poor, fair, good, very good, excellent, outstanding",
        "unsatisfactory, needs improvement, satisfactory, good, excellent",
        "very bad, bad, neutral, good, very good",
        "bad, mediocre, good",
        "bad, average, good",
        "bad, ok, good",
        "poor, average, good, excellent",
        "terrible, poor, okay, good, excellent",
        "strongly disagree, disagree, somewhat disagree, neutral, somewhat agree, agree, strongly agree",
        "strongly disagree, disagree, neither agree nor disagree, agree, strongly agree",
        "strongly disagree, disagree, neutral, agree, strongly agree",
        "very low, low, medium, high, very high",
        "low, moderate, high",
        "incorrect, partially correct, correct",
        "incorrect, partial, correct",
        "wrong, partially correct, correct",
        "incorrect, partly correct, correct",
        "no, partially, yes",
        "no, partly, yes",
        "no, somewhat, yes",
        "no, maybe, yes",
        "fail, borderline, pass",
        "fail, pass, merit, distinction",
        "fail, pass, credit, distinction, high distinction",
        "fail, third, lower second, upper second, first",
        "reject, weak reject, borderline, weak accept, accept",
        "strong reject, reject, weak reject, borderline, weak accept, accept, strong accept",
        "reject, major revision, minor revision, accept",
        "beginning, developing, proficient, exemplary",
        "below basic, basic, proficient, advanced",
        "below, meets, exceeds",
        "not met, partially met, met",
        "never, rarely, sometimes, often, always",
        "a1, a2, b1, b2, c1, c2",
        "ungenügend, mangelhaft, ausreichend, befriedigend, gut, sehr gut",
        "nicht ausreichend, ausreichend, befriedigend, gut, sehr gut",
        "schlecht, mittel, gut",
        "trifft nicht zu, trifft eher nicht zu, teils/teils, trifft eher zu, trifft zu",
        "nein, teilweise, ja",
        "insuffisant, passable, assez bien, bien, très bien",
        "non, en partie, oui",
        "suspenso, aprobado, notable, sobresaliente",
        "malo, regular, bueno, muy bueno, excelente",
        "insufficiente, sufficiente, discreto, buono, distinto, ottimo",
        "péssimo, ruim, regular, bom, muito bom, ótimo",
        "insuficiente, regular, bom, muito bom, excelente",
        "onvoldoende, matig, voldoende, goed, zeer goed, uitstekend",
    )
)
"""Ordered answers, the lowest first."""

_GRADE = re.compile(r"([A-F])\s*(\+{1,2}|-|−|–)?")
_STARS = re.compile(r"[★⭐]️?")


def verdict(words: Collection[str]) -> dict[str, float] | None:
    """Passes and fails by word, where all are verdicts; single letters need their opposites.

    Examples
    --------
    >>> verdict(["Good", "bad"]), verdict(["pass", "maybe"]), verdict(["y"])
    ({'Good': 1.0, 'bad': 0.0}, None, None)
    """
    folded = {word: word.casefold() for word in words}
    if not folded or not all(word in VERDICTS for word in folded.values()):
        return None
    found = {word: VERDICTS[text] for word, text in folded.items()}
    if set(folded.values()) & _SINGLE and len(set(found.values())) < 2:
        return None
    return found


def ladder(words: Collection[str]) -> dict[str, float] | None:
    """Ordered answers by word, counted from 0 over those that occur or stand between them.

    Examples
    --------
    >>> ladder(["Good", "poor", "fair"])
    {'poor': 0.0, 'fair': 1.0, 'Good': 2.0}
    """
    folded = {word.casefold(): word for word in words}
    fitting = [steps for steps in LADDERS if len(folded) >= 2 and set(folded) <= set(steps)]
    if not fitting:
        return None
    steps = min(fitting, key=len)
    places = sorted(steps.index(word) for word in folded)
    return {folded[steps[place]]: float(place - places[0]) for place in places}


def letters(words: Collection[str]) -> dict[str, float] | None:
    """Grades A to F with plus and minus, the worst that occurs as 0: A-F is 5-0, and A, B, C, D, F is 4-0.

    Examples
    --------
    >>> letters(["A", "B", "F", "C", "D", "E"])
    {'F': 0.0, 'E': 1.0, 'D': 2.0, 'C': 3.0, 'B': 4.0, 'A': 5.0}
    >>> letters(["B+", "A-", "B"]), letters(["A", "Z"])
    ({'B': 0.0, 'B+': 1.0, 'A-': 2.0}, None)
    """
    found = {word: _GRADE.fullmatch(word.strip().upper()) for word in words}
    if len(found) < 2 or not all(found.values()):
        return None
    marks = {word: match.groups(default="") for word, match in found.items() if match is not None}
    sign = {"": 0, "+": 1, "++": 2}
    value = {word: -3 * ord(letter) + sign.get(added, -1) for word, (letter, added) in marks.items()}
    signed = any(added for _, added in marks.values())
    if not signed:
        # Without signs, a letter that does not occur keeps its place; E alone does not exist in many countries.
        seen = {letter for letter, _ in marks.values()}
        scale = [one for one in "ABCDEF" if min(seen) <= one <= max(seen) and (one != "E" or "E" in seen)]
        value = {word: -scale.index(letter) for word, (letter, _) in marks.items()}
        lowest = min(value.values())
        return {word: float(step - lowest) for word, step in sorted(value.items(), key=lambda pair: pair[1])}
    ranks = {step: place for place, step in enumerate(sorted(set(value.values())))}
    return {word: float(ranks[step]) for word, step in sorted(value.items(), key=lambda pair: pair[1])}


def stars(words: Collection[str]) -> dict[str, float] | None:
    """Stars, counted.

    Examples
    --------
    >>> stars(["★", "★★★☆☆"])
    {'★': 1.0, '★★★☆☆': 3.0}
    """
    counts = {word: float(len(_STARS.findall(word))) for word in words}
    rest = {_STARS.sub("", word).strip("☆ ") for word in words}
    return counts if counts and rest == {""} and any(counts.values()) else None


_LEADING = re.compile(r"(\d{1,3})\s*[-–—:.)=(]\s*(?=[^\d\s])(.*)", re.DOTALL)


def leading_numbers(words: Collection[str]) -> dict[str, float] | None:
    """Numbers with their meaning behind them: "5 - excellent", "1 (poor)". Each number must mean one thing.

    Examples
    --------
    >>> leading_numbers(["1 - poor", "5 (excellent)"]), leading_numbers(["2: poor", "2: good"])
    ({'1 - poor': 1.0, '5 (excellent)': 5.0}, None)
    """
    found = {word: _LEADING.fullmatch(word.strip()) for word in words}
    if not found or not all(found.values()):
        return None
    meant = {word: (float(match[1]), match[2]) for word, match in found.items() if match is not None}
    texts: dict[float, set[str]] = {}
    for number, text in meant.values():
        texts.setdefault(number, set()).add(text.strip(" )").casefold())
    if len(meant) < 2 or any(len(same) > 1 for same in texts.values()):
        return None
    return {word: number for word, (number, _) in meant.items()}


@cache
def _all_words() -> frozenset[str]:
    return frozenset(VERDICTS) | {word for steps in LADDERS for word in steps}


def is_score_word(text: str) -> bool:
    """Whether a text can be a score: a verdict, a grade, an ordered answer, stars, or a number with its meaning."""
    word = text.strip()
    folded = word.casefold()
    return (
        folded in _all_words()
        or _GRADE.fullmatch(word) is not None
        or stars([word]) is not None
        or (_LEADING.fullmatch(word) is not None and len(word) < 60)
    )
