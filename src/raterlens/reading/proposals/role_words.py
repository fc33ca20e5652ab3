"""What columns are called, in English, German, French, Spanish, Italian, Portuguese and Dutch."""

import re
import unicodedata
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
            "scorer, grader, assessor, examiner, reviewer, evaluator, coder, worker, labeler, labeller, rated "
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
"""What columns of small numbers are called that are no scores."""

GOLD = words(
    "gold, gold label, gold score, gold standard, golden, truth, ground truth, ground truth label, groundtruth, "
    "reference, reference label, reference answer, reference score, expected, expected output, expected label, "
    "expected answer, target, target label, correct answer, correct label, answer key, definitive, known, known "
    "answer, human label, human verdict, human judgment, human judgement, human annotation, true label, true "
    "score, label true, y true, expert label, oracle, Musterlösung, richtig ist, vérité terrain, etiqueta real, "
    "solución"
)
"""What known answers are called, which are neither a judge's nor a score."""
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
"""What tells apart several answers of a judge to the same question."""
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
"""What tells repeated ratings apart that are meant to be several."""
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
